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

// An Error for an annotation that its op cannot have, that does not exist, or that the mode does not use, and for
// parameter servers combined with divided layers.
void check_shards(const Graph& graph, const Distribution& distribution);

struct ShardPlan {
  std::vector<ShardedLayer> layers;  // those that are divided
  std::string text;                  // the choice for every dense layer, and the estimate of auto_parallel
  double seconds = 0;                // of a step, estimated; 0: no estimate was made
  double data_parallel_seconds = 0;  // of the step with nothing divided
};

// An annotated layer is divided as its annotation says. The others, if extents are multiples of the ranks:
// - hybrid_parallel: "rows" after a layer with "columns" and elementwise ops, else "columns";
// - auto_parallel: the choices with the least estimated step (step_price.h). Up to six layers all combinations are
//   compared; beyond, pairs of neighbours are changed as long as that improves the estimate.
// Nothing if the step is already divided. An Error for auto_parallel without rates.
ShardPlan plan_shards(const Graph& graph, const Distribution& distribution);

// The step with these annotations, for a mode that uses them; names without an op are skipped.
Graph annotated(Graph graph, const std::vector<ShardedLayer>& layers);

}  // namespace ridgeline
