#include "ridgeline/compile/lower/place_arena.h"

#include <algorithm>
#include <cstdint>

namespace ridgeline {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment; }

// The smallest sufficient gap between placed blocks that are needed at the same time, else after all of them.
std::size_t best_fit(const ArenaBlock& block, std::vector<const ArenaBlock*> rivals) {
  std::sort(rivals.begin(), rivals.end(),
            [](const ArenaBlock* x, const ArenaBlock* y) { return x->offset < y->offset; });
  std::size_t end = 0;
  std::size_t best = 0;
  std::size_t best_gap = SIZE_MAX;
  for (const ArenaBlock* r : rivals) {
    if (r->offset > end && r->offset - end >= aligned(block.bytes) && r->offset - end < best_gap) {
      best = end;
      best_gap = r->offset - end;
    }
    end = std::max(end, r->offset + aligned(r->bytes));
  }
  return best_gap == SIZE_MAX ? end : best;
}

}  // namespace

std::size_t place_arena(std::vector<ArenaBlock>& blocks, bool reuse) {
  std::sort(blocks.begin(), blocks.end(), [](const ArenaBlock& a, const ArenaBlock& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.when.first < b.when.first;
  });
  std::size_t total = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    ArenaBlock& block = blocks[i];
    std::vector<const ArenaBlock*> rivals;
    for (std::size_t p = 0; p < i; ++p) {
      if (!reuse || blocks[p].when.meets(block.when)) rivals.push_back(&blocks[p]);
    }
    block.offset = best_fit(block, std::move(rivals));
    total = std::max(total, block.offset + aligned(block.bytes));
  }
  return total;
}

}  // namespace ridgeline
