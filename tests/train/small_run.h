// tests/train/small_run.h
//
// The run for tests of the training loop: ResNet-20 on random pixels, four images per step.
#pragma once

#include <string>

#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

inline Recipe small_run(const std::string& log_dir, std::int64_t steps, std::int64_t save_checkpoints_steps) {
  Recipe r;
  r.synthetic = true;
  r.mode = Mode::train;
  r.model = "resnet20";
  r.num_classes = 10;
  r.batch_size = 4;
  r.max_train_steps = steps;
  r.save_checkpoints_steps = save_checkpoints_steps;
  r.log_dir = log_dir;
  return r;
}

}  // namespace ridgeline::train
