// ridgeline/device/uniform_fill.h
//
// Uniform random numbers by counter, many at a time, for large parameters.
#pragma once

#include <cstdint>
#include <span>

#include "ridgeline/core/random.h"

namespace ridgeline::device {

// to[i] = amount * m, rounded to f32 once, where m is the middle of one of 2^24 equal cells of (-1,1): symmetric, and
// never -1 or 1. The cell is given by the upper 24 bits of word i%4 of the Philox block with the counter {first_block +
// i/4, 0, 0}. On the calling thread; the same bits under every instruction set.
void fill_symmetric_uniform(PhiloxKey key, double amount, std::uint64_t first_block, std::span<float> to);

}  // namespace ridgeline::device
