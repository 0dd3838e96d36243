// ridgeline/train/metrics.h
//
// The numbers of the human log for programs: metrics.jsonl and a TensorBoard event file in the log directory. One
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/format/record/event_file.h"
#include "ridgeline/format/text/json_lines.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

class Ranks;  // ranks.h

class Metrics {
 public:
  // Continues the files of a run that has done `step` steps. Later steps will be repeated: their lines are removed, and
  // readers of the events are told to drop them. A run that starts at 0 begins a new metrics.jsonl; an existing one is
  // kept as metrics.jsonl.old.
  Metrics(const std::string& directory, std::int64_t step);
  // Writes nothing: for ranks other than the one that writes.
  Metrics() = default;
  // Evaluations of earlier processes of the run decide what all ranks do: the main rank, which has read them, tells the
  // others. All ranks call it.
  void share(const Ranks& ranks);
  void write(const StepLine& line);
  void write(const EvaluationRow& row);
  // Bad samples of the training so far, replaced by others.
  void write_bad_samples(std::int64_t step, double epoch, std::int64_t count);
  // The event file, for what is not a metric.
  EventFileWriter& events() { return *events_; }
  const std::string& path() const { return path_; }
  // The evaluation that an earlier process completed at `step`, if any; later the last one written.
  const std::optional<EvaluationRow>& evaluation() const { return evaluation_; }
  // Steps that earlier processes of the run skipped under a loss scale, by their last line.
  std::int64_t skipped_steps() const { return skipped_steps_; }
  // All evaluations: of earlier processes of the run, up to `step`, and of this one.
  const std::vector<EvaluationRow>& evaluations() const { return evaluations_; }
  // What was done with an earlier process's lines and files, for the log; empty: nothing was changed.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void resume(std::int64_t step);

  std::string path_;
  std::optional<EvaluationRow> evaluation_;
  std::vector<EvaluationRow> evaluations_;
  std::int64_t skipped_steps_ = 0;
  std::vector<std::string> notes_;
  std::optional<JsonLinesWriter> lines_;
  std::unique_ptr<EventFileWriter> events_;
};

}  // namespace ridgeline::train
