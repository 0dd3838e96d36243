// tests/train/recorded_losses.h
//
// The loss of each step of a training.
#pragma once

#include <vector>

#include "ridgeline/train/loop/loop.h"

namespace ridgeline::train {

struct RecordedLosses : Callback {
  std::vector<double> all;
  void step_end(RunContext& context) override { all.push_back(context.loss()); }
};

}  // namespace ridgeline::train
