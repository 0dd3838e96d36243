// ridgeline/compile/lower/place_arena.h
//
// Where blocks of memory lie in one arena, when each is needed for a time: best fit, largest first.
#pragma once

#include <cstddef>
#include <vector>

#include "ridgeline/compile/lower/lifetimes.h"

namespace ridgeline {

// Of every block and arena: what the widest vectors want.
inline constexpr std::size_t kMemoryAlignment = 64;

struct ArenaBlock {
  int buffer = -1;
  std::size_t bytes = 0;
  Lifetime when = {};
  std::size_t offset = 0;  // the answer
};

// Gives each its offset, a multiple of kMemoryAlignment; returns the bytes of the arena. Without `reuse` no two blocks
// have bytes in common.
std::size_t place_arena(std::vector<ArenaBlock>& blocks, bool reuse);

}  // namespace ridgeline
