// ridgeline/graph/pass/distribution.h
//
// Over which ranks a step is distributed, and how. A plain value; the same on all of them but for `rank`.
#pragma once

#include <cstdint>
#include <string>

#include "ridgeline/graph/pass/split_strategy.h"

namespace ridgeline {

struct Distribution {
  std::int64_t ranks = 1;  // 1: not at all
  std::string group = "world";
  bool overlap = true;  // exchanges run beside the rest of the backward pass; else behind it. The bits are the same
  SplitStrategy split = {};
  // Gradients that are summed over several batches of a step are exchanged for each batch, not once: then the order of
  // that sum, too, does not follow from the number of ranks.
  bool each_batch = false;
  std::int64_t rank = 0;       // this one in the group
  bool shard_updates = false;  // each rank keeps and updates its part of the slots (shard_updates.h)
};

}  // namespace ridgeline
