// ridgeline/graph/pass/pipeline_plan.h
//
// Assigns the ops of a training step that depend on the batch to the stages of a pipeline.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/distribution.h"

namespace ridgeline {

// Whether each node belongs to the backward pass: it computes gradients or reads values that depend on them.
std::vector<bool> backward_nodes(const Graph& graph);

struct StagedNodes {
  std::vector<int> stage;  // of each node that depends on the inputs; -1 for others
  // Whether it runs once the loss of its micro-batch is known: the backward pass, and ops that keep a stored value
  // unchanged if a later stage says so, such as a batch norm's statistics if the loss is not finite.
  std::vector<bool> backward;
};

// Annotations decide; without any, the forward ops are cut, in their order, so that the slowest stage is as fast as
// possible (op_seconds() of each op and its gradient ops; by `rates`, or if these are unknown by 50 FLOPs to a byte).
// Ops that keep a stored value unchanged run in the stage that reads it. Errors as for pipeline().
StagedNodes stages_of(const Graph& graph, const PipelinePlan& plan, const RankRates& rates,
                      const std::vector<bool>& follows);

// For logs: each stage's forward ops, and how long stages wait for each other.
std::string stages_text(const Graph& graph, const StagedNodes& nodes, const PipelinePlan& plan);

}  // namespace ridgeline
