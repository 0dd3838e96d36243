// ridgeline/device/cpu/winograd/scratch.h
//
// Where the streams of a tile's positions are in the scratch memory.
#pragma once

#include "ridgeline/device/cpu/scratch.h"

namespace ridgeline::device::winograd {

// Distance between the streams of neighbouring positions, at least n. A tile's channels are written to alpha^2 streams
// at once: at distances that are multiples of 4 KiB, all of these lines would compete for the same few places in the
// first-level cache. 5 lines more than such a multiple spread 64 streams over its 64 sets.
inline std::int64_t stream_distance(std::int64_t n) {
  constexpr std::int64_t kPage = 1024;
  constexpr std::int64_t kOffset = 5 * kLineFloats;
  return n <= kOffset ? kOffset : round_up(n - kOffset, kPage) + kOffset;
}

}  // namespace ridgeline::device::winograd
