// ridgeline/graph/pass/shard_updates.h
//
// Splits updates over the ranks of a distributed step (Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training
// Trillion Parameter Models", 2020, stage 1): a rank keeps its part of a parameter's slots, updates that part of the
// parameter, and gets the other parts from the ranks that have them. A part is one of as many equal runs of elements in
// row-major order, filled up with zeros. Where nothing but elementwise ops stands between the mean of a gradient and
// the update, the rank gets that part of the mean alone: a reduce_scatter, which sends half as much as the all_reduce.
// A gradient that others read, too (clipping by the norm, a check for overflow), or that is exchanged under a condition
// (several batches of a step) stays in its all_reduce.
// Keeps: every bit of parameters and slots. Drops: nothing; slots as arguments become shorter.
#pragma once

#include <cstdint>

#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

// Parameters of fewer elements are updated by every rank: an exchange of its own costs more than that.
inline constexpr std::int64_t kLeastSharded = 1024;

// Elements of a rank's part.
constexpr std::int64_t shard_elements(std::int64_t elements, std::int64_t ranks) {
  return (elements + ranks - 1) / ranks;
}

// An Error in the original's words where the step has fewer gradients than there are ranks.
void check_split_updates(const Graph& graph, std::int64_t ranks);

// Does nothing unless the context asks for it (Distribution::shard_updates) and there are several ranks. An Error where
// the ranks divide the model itself.
Graph shard_updates(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
