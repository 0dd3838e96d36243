// ridgeline/graph/pass/shard.h
//
// Divides dense layers of a training step over the ranks, as their annotations say or as the mode chooses
// (shard_plan.h): "columns" gives each rank a part of the results, "rows" a part of what is summed. Parameters, slots
// and gradients of such a layer become this rank's part of them; what goes in and out is gathered, scattered and
// exchanged where the form of a value changes. All else stays as it is: the pass data_parallel follows.
// Keeps: what a step of all ranks' batches together computes. Drops: the annotations.
#pragma once

#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

// An Error that names the op for an annotation that it cannot have, an extent that is no multiple of the ranks, a
// parameter that an op reads which needs all of it.
Graph shard(Graph graph, const PassContext& context, PassResults& results);

// The step with these layers divided, whatever their annotations are. For whoever compares plans.
struct ShardedLayer {
  std::string node;  // the dense op's name
  std::string how;   // "columns" or "rows"
};
Graph shard_layers(Graph graph, const Distribution& over, PassResults& results,
                   const std::vector<ShardedLayer>& layers);

}  // namespace ridgeline
