// ridgeline/graph/pass/shard.h
//
// Divides dense layers of a training step over the ranks, as their annotations say or as the mode chooses
// (shard_plan.h): "columns" gives each rank some of the outputs, "rows" some of the inputs that are summed over.
// Parameters, slots and gradients of such a layer become this rank's shards; values that go in and out are gathered,
// scattered and exchanged where their distribution changes. All else stays as it is: the pass data_parallel follows.
// Keeps: what a step of all ranks' batches together computes. Drops: the annotations.
#pragma once

#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

// An Error names the op if it cannot have its annotation, if an extent is not a multiple of the ranks, or if it needs
// the whole of a divided parameter.
Graph shard(Graph graph, const PassContext& context, PassResults& results);

// The step with these layers divided, whatever their annotations are: for comparing ways to divide a step.
struct ShardedLayer {
  std::string node;  // the dense op's name
  std::string how;   // "columns" or "rows"
};
Graph shard_layers(Graph graph, const Distribution& over, PassResults& results,
                   const std::vector<ShardedLayer>& layers);

}  // namespace ridgeline
