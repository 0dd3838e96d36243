// ridgeline/train/callback/step_times.h
//
// At the end of a run: where the time of its last step went, launch by launch, compared with the machine's limits,
// which are measured then. A file of JSON lines of three kinds, `limits`, `part` (all launches of one kind of op) and
// `launch`, a line of the log with the largest gaps, and a table in `ridgeline report`.
#pragma once

#include <string>

#include "ridgeline/train/loop/callback.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

class StepTimes : public Callback {
 public:
  // An existing file is replaced.
  StepTimes(std::string path, TrainingLog& log) : path_(std::move(path)), log_(log) {}

  void step_begin(RunContext& context) override;
  void end(RunContext& context) override;

 private:
  std::string path_;
  TrainingLog& log_;
};

}  // namespace ridgeline::train
