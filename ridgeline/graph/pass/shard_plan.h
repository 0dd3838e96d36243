// ridgeline/graph/pass/shard_plan.h
//
// Which dense layers of a step are divided over the ranks, and how: by their annotations, by a fixed rule
// (hybrid_parallel), or by what the step costs (auto_parallel). Pure functions.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/graph/pass/distribution.h"
#include "ridgeline/graph/pass/shard.h"

namespace ridgeline {

// Values of the annotation `shard`.
inline constexpr const char* kData = "data";
inline constexpr const char* kColumns = "columns";
inline constexpr const char* kRows = "rows";

// An Error for an annotation that its op cannot have, that is none, or that the mode has no use for, and for parameter
// servers beside divided layers.
void check_shards(const Graph& graph, const Distribution& distribution);

struct ShardPlan {
  std::vector<ShardedLayer> layers;  // those that are divided
  std::string text;                  // every dense layer with what was chosen, and the estimate of auto_parallel
  double seconds = 0;                // of a step, estimated; 0: nothing was
  double data_parallel_seconds = 0;  // of the step with nothing divided
};

// An annotated layer is divided as it says. Of the others, where extents are multiples of the ranks:
// - hybrid_parallel: "rows" behind a layer with "columns" and elementwise ops, else "columns";
// - auto_parallel: the choices with the least estimated step (step_price.h). All are compared up to six layers; beyond,
//   pairs of neighbours are changed until nothing gets better.
// Nothing where the step has been divided already. An Error for auto_parallel without rates.
ShardPlan plan_shards(const Graph& graph, const Distribution& distribution);

// The step with these annotations, for a mode that goes by them; an op that it does not have is passed over.
Graph annotated(Graph graph, const std::vector<ShardedLayer>& layers);

}  // namespace ridgeline
