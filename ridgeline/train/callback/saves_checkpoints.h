// ridgeline/train/callback/saves_checkpoints.h
//
// The interface of callbacks that write checkpoints: a run asks them to save before an evaluation, and to keep the
// checkpoint of the best one.
#pragma once

#include <cstdint>

#include "ridgeline/train/loop/callback.h"

namespace ridgeline::train {

class SavesCheckpoints : public Callback {
 public:
  // Saves the step that is done, unless it is already saved.
  virtual void save(const RunContext& context) = 0;
  // The checkpoint of this step, that of the run's best evaluation, is not removed, however many newer ones there are.
  virtual void keeps(std::int64_t step) = 0;
};

}  // namespace ridgeline::train
