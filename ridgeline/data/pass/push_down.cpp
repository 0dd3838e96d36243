#include <limits>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/edit.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

// take(n) and skip(n) of batches are take(n * size) and skip(n * size) of samples, also with a short last batch.
// Batch operations draw by the batch's number, which must stay.
bool can_cross_batch(const Node& upper, const Node& batch) {
  if ((upper.op != node_name::kTake && upper.op != node_name::kSkip) || batch.op != node_name::kBatch ||
      !batch.operations.empty())
    return false;
  const std::int64_t count = arg<std::int64_t>(upper.args, "count");
  return count <= std::numeric_limits<std::int64_t>::max() / arg<std::int64_t>(batch.args, "size");
}

// A node that reads a column crosses maps that leave it unchanged.
bool can_cross_map(const Node& node, const Node& map) {
  const NodeEntry& entry = node_entry(node.op);
  if (entry.kind == NodeKind::filter) return !touches(map, arg<std::string>(node.args, "column"));
  return !entry.reads_label || !touches(map, kLabelColumn);
}

// One exchange, if any is left to make.
bool push_one(DataGraph& graph) {
  for (const Node& node : graph.nodes) {
    const NodeKind kind = node_entry(node.op).kind;
    if (kind != NodeKind::order && kind != NodeKind::filter) continue;
    const Node& input = graph.node(node.inputs[0]);
    if (readers_of(graph, input.id).size() != 1) continue;
    const NodeKind below = node_entry(input.op).kind;
    const bool over_map = below == NodeKind::map && can_cross_map(node, input);
    const bool over_columns = below == NodeKind::columns && kind == NodeKind::order;
    if (over_map || over_columns) {
      swap_with_input(graph, node.id);
      return true;
    }
    if (below == NodeKind::batch && kind == NodeKind::order && can_cross_batch(node, input)) {
      Value& count = graph.node(node.id).args.at("count");
      if (std::get<std::int64_t>(count) > 0)
        count = std::get<std::int64_t>(count) * arg<std::int64_t>(input.args, "size");
      swap_with_input(graph, node.id);
      return true;
    }
  }
  return false;
}

}  // namespace

DataGraph push_down(DataGraph graph) {
  while (push_one(graph)) {
  }
  return graph;
}

}  // namespace ridgeline::data
