// ridgeline/graph/pass/shard_updates.h
//
// Splits updates over the ranks of a distributed step (Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training
// Trillion Parameter Models", 2020, stage 1): a rank keeps its shard of a parameter's slots, updates that shard of the
// parameter, and receives the other shards from their ranks. Shards are equally long ranges of elements in row-major
// order, padded with zeros. If only elementwise ops are between the mean of a gradient and the update, the rank
// receives only its shard of the mean: a reduce_scatter, which sends half as much as the all_reduce. A gradient that
// others read, too (clipping by the norm, a check for overflow), or that is exchanged under a condition (several
// batches of a step) stays in its all_reduce.
// Keeps: every bit of parameters and slots. Drops: nothing; slots as arguments become shorter.
#pragma once

#include <cstdint>

#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

// Smaller parameters are updated by every rank: an exchange of their own would cost more.
inline constexpr std::int64_t kLeastSharded = 1024;

// Elements of a rank's shard.
constexpr std::int64_t shard_elements(std::int64_t elements, std::int64_t ranks) {
  return (elements + ranks - 1) / ranks;
}

// An Error in the original's words where the step has fewer gradients than there are ranks.
void check_split_updates(const Graph& graph, std::int64_t ranks);

// Does nothing unless the context asks for it (Distribution::shard_updates) and there are several ranks. An Error if
// the ranks divide the model itself.
Graph shard_updates(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
