#include <limits>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/edit.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

// take(n) and skip(n) of batches are take(n * size) and skip(n * size) of samples, also with a short last batch.
bool can_cross_batch(const Node& upper, const Node& batch) {
  if (upper.op != "take" && upper.op != "skip") return false;
  const std::int64_t count = arg<std::int64_t>(upper.args, "count");
  return count <= std::numeric_limits<std::int64_t>::max() / arg<std::int64_t>(batch.args, "size");
}

// One exchange, if any is left to make.
bool step(DataGraph& graph) {
  for (const Node* node : chain_of(graph)) {
    if (node_entry(node->op).kind != NodeKind::order) continue;
    const Node& input = graph.node(node->inputs[0]);
    const NodeKind below = node_entry(input.op).kind;
    if (below == NodeKind::map) {
      swap_with_input(graph, node->id);
      return true;
    }
    if (below == NodeKind::batch && can_cross_batch(*node, input)) {
      Value& count = graph.node(node->id).args.at("count");
      if (std::get<std::int64_t>(count) > 0)
        count = std::get<std::int64_t>(count) * arg<std::int64_t>(input.args, "size");
      swap_with_input(graph, node->id);
      return true;
    }
  }
  return false;
}

}  // namespace

DataGraph push_down(DataGraph graph) {
  while (step(graph)) {
  }
  return graph;
}

}  // namespace ridgeline::data
