// ridgeline/graph/pass/pipeline_plan.h
//
// Which stage of a pipeline runs which op of a training step that follows from the batch.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/distribution.h"

namespace ridgeline {

// Whether each node is a part of the backward pass: it gives gradients or reads what follows from them.
std::vector<bool> backward_nodes(const Graph& graph);

struct StagedNodes {
  std::vector<int> stage;  // of each node that follows from the inputs; -1 for others
  // Whether it runs when the loss of its micro-batch is known: the backward pass, and what keeps a stored value as it
  // was where a later stage says so, as the statistics of a batch norm whose loss is not finite.
  std::vector<bool> backward;
};

// Annotations count; where there are none, the forward ops are cut, in their order, where the stage that takes longest
// takes least (op_seconds() of each op and its gradient ops; by `rates`, or where they are not known by 50 FLOPs to a
// byte). What keeps a stored value runs in the stage that reads it. Errors as pipeline() has them.
StagedNodes stages_of(const Graph& graph, const PipelinePlan& plan, const RankRates& rates,
                      const std::vector<bool>& follows);

// For logs: which forward ops each stage has, and how long stages wait for each other.
std::string stages_text(const Graph& graph, const StagedNodes& nodes, const PipelinePlan& plan);

}  // namespace ridgeline
