// ridgeline/train/loop/bind_batch.h
//
// Binds a batch's tensors to the arguments of a step, without a copy: they must live as long as the program may read
// them.
#pragma once

#include "ridgeline/compile/run/program.h"
#include "ridgeline/nn/training_step.h"

namespace ridgeline::train {

// `flip`: if the step mirrors raw images; else null.
inline void bind_batch(Program& program, const Tensor& images, const Tensor& labels, const Tensor* flip = nullptr) {
  program.bind(nn::kImagesInput, images);
  program.bind(nn::kLabelsInput, labels);
  if (flip) program.bind(nn::kFlipInput, *flip);
}

}  // namespace ridgeline::train
