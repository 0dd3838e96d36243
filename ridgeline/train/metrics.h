// ridgeline/train/metrics.h
//
// The same numbers for programs: metrics.jsonl and a TensorBoard event file in the log directory. One thread.
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
  // Continues the files of a run that has done `step` steps. What they say of later ones is done again: such lines are
  // removed, and readers of the events are told to drop them. A run that starts at 0 begins metrics.jsonl anew; what
  // was there is kept under the name metrics.jsonl.old.
  Metrics(const std::string& directory, std::int64_t step);
  // Writes nothing: of a rank whose numbers another one writes.
  Metrics() = default;
  // What earlier processes of the run evaluated decides what all ranks do: the main rank, which has read it, tells the
  // others. All of them call it.
  void share(const Ranks& ranks);
  void write(const StepLine& line);
  void write(const EvaluationRow& row);
  // Bad samples of the training so far, replaced by others.
  void write_bad_samples(std::int64_t step, double epoch, std::int64_t count);
  // The event file, for what is not among the metrics.
  EventFileWriter& events() { return *events_; }
  const std::string& path() const { return path_; }
  // The evaluation that an earlier process made at `step`, if it came to its end; then the last that was written.
  const std::optional<EvaluationRow>& evaluation() const { return evaluation_; }
  // Steps that earlier processes of the run skipped under a loss scale, as their last line says.
  std::int64_t skipped_steps() const { return skipped_steps_; }
  // All that were made: by earlier processes of the run, up to `step`, and by this one.
  const std::vector<EvaluationRow>& evaluations() const { return evaluations_; }
  // What became of an earlier process's lines and files, for the log; empty: all of them stand.
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
