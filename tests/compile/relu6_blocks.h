// tests/compile/relu6_blocks.h
//
// Training steps of random inverted residual blocks, as MobileNetV2 has them: convolutions, some of them by channel,
// batch norms whose results reach beyond 6, relu6, sums with shortcuts before and behind it. The step's loss is a sum;
// it returns the gradients of every parameter and updates the norms' statistics.
#pragma once

#include <cstdint>

#include "tests/compile/shrink.h"

namespace ridgeline::testing {

GraphCase relu6_blocks(std::uint64_t seed);

}  // namespace ridgeline::testing
