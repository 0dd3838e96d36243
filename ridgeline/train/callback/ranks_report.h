// ridgeline/train/callback/ranks_report.h
//
// Measured time and traffic of the steps of several ranks: a line of the human log when the run ends, with the estimate
// if the division was chosen by cost.
#pragma once

#include "ridgeline/comm/communicator.h"
#include "ridgeline/train/loop/callback.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

class RanksReport : public Callback {
 public:
  explicit RanksReport(TrainingLog& log) : log_(log) {}

  void step_begin(RunContext& context) override;
  void step_end(RunContext& context) override;
  void end(RunContext& context) override;

 private:
  TrainingLog& log_;
  comm::Traffic before_, sent_;  // of the loops that are counted
  double seconds_ = 0;
  std::int64_t steps_ = 0;
  bool started_ = false;  // the first loop includes start-up, so it counts only if it is the only one
};

}  // namespace ridgeline::train
