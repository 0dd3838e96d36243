// ridgeline/train/metrics.h
//
// The same numbers for programs: metrics.jsonl and a TensorBoard event file in the log directory. One thread.
#pragma once

#include <memory>
#include <string>

#include "ridgeline/format/event_file.h"
#include "ridgeline/format/json_lines.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

class Metrics {
 public:
  // Continues the files that an earlier run left in `directory`.
  explicit Metrics(const std::string& directory);
  void write(const StepLine& line);
  void write(const EvaluationRow& row);
  // Bad samples of the training so far, replaced by others.
  void write_bad_samples(std::int64_t step, double epoch, std::int64_t count);
  const std::string& path() const { return path_; }
  // What an earlier run left that cannot be continued, for the log; empty: nothing.
  const std::string& note() const { return note_; }

 private:
  std::string path_;
  std::string note_;
  JsonLinesWriter lines_;
  std::unique_ptr<EventFileWriter> events_;
};

}  // namespace ridgeline::train
