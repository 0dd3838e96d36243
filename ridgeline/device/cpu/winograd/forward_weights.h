// ridgeline/device/cpu/winograd/forward_weights.h
//
// Transforms plain weights [K,R,S,C] of f32 or bf16 for the forward pass, by blocks of pixels if there are strides.
// Belongs to one kernel.
#pragma once

#include "ridgeline/device/cpu/winograd/convolution.h"
#include "ridgeline/device/cpu/winograd/scratch.h"
#include "ridgeline/device/cpu/winograd/weights.h"

namespace ridgeline::device::winograd {

template <class Pixel>
class ForwardWeights {
 public:
  // Reserves its memory in `scratch`.
  ForwardWeights(const Convolution& convolution, Rule rule, Scratch& scratch)
      : weights_(rule, convolution.filters(), convolution.channels()),
        blocks_(convolution.blocks()),
        blocked_(blocks_.stride > 1 ? scratch.reserve(convolution.blocked_weights()) : -1),
        transformed_(scratch.reserve(weights_.forward_form().floats())) {}

  // Returns the transformed weights; uses the compute team.
  const float* make(const Pixel* weights, float* scratch) const {
    if (blocked_ >= 0) {
      auto* const in_blocks = reinterpret_cast<Pixel*>(scratch + blocked_);
      blocks_.to_blocks(weights, weights_.forward_form().columns, in_blocks);
      weights = in_blocks;
    }
    weights_.forward(weights, scratch + transformed_);
    return scratch + transformed_;
  }

 private:
  WeightsCode weights_;
  Blocks blocks_;
  std::int64_t blocked_;  // the weights in blocks, if there are strides
  std::int64_t transformed_;
};

}  // namespace ridgeline::device::winograd
