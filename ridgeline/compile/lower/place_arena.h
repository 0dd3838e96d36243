// ridgeline/compile/lower/place_arena.h
//
// Places blocks of memory in one arena, each needed for some time: best fit, largest first.
#pragma once

#include <cstddef>
#include <vector>

#include "ridgeline/compile/lower/lifetimes.h"

namespace ridgeline {

// The alignment of every block and arena: that of the widest vectors.
inline constexpr std::size_t kMemoryAlignment = 64;

struct ArenaBlock {
  int buffer = -1;
  std::size_t bytes = 0;
  Lifetime when = {};
  std::size_t offset = 0;  // the result
};

// Gives each its offset, a multiple of kMemoryAlignment; returns the bytes of the arena. Without `reuse` no two blocks
// have bytes in common.
std::size_t place_arena(std::vector<ArenaBlock>& blocks, bool reuse);

}  // namespace ridgeline
