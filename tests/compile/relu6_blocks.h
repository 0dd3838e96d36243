// tests/compile/relu6_blocks.h
//
// Training steps of random inverted residual blocks, as in MobileNetV2: convolutions, some of them depthwise, batch
// norms whose results exceed 6, relu6, sums with shortcuts before and after it. The loss is a sum; the step returns the
// gradients of all parameters and updates the norms' statistics.
#pragma once

#include <cstdint>

#include "tests/compile/shrink.h"

namespace ridgeline::testing {

GraphCase relu6_blocks(std::uint64_t seed);

}  // namespace ridgeline::testing
