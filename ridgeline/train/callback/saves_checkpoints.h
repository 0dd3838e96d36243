// ridgeline/train/callback/saves_checkpoints.h
//
// What a run must be able to ask of a callback that writes checkpoints: to save before an evaluation, and to keep the
// checkpoint of the best one.
#pragma once

#include <cstdint>

#include "ridgeline/train/loop/callback.h"

namespace ridgeline::train {

class SavesCheckpoints : public Callback {
 public:
  // The step that is done, unless it is saved already.
  virtual void save(const RunContext& context) = 0;
  // The checkpoint of this step is not removed, however many newer ones there are: of the run's best evaluation.
  virtual void keeps(std::int64_t step) = 0;
};

}  // namespace ridgeline::train
