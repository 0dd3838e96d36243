#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/pass/edit.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

bool does_nothing(const Node& node) {
  const auto count = [&] { return arg<std::int64_t>(node.args, "count"); };
  return (node.op == node_name::kRepeat && count() == 1) || (node.op == node_name::kSkip && count() == 0) ||
         (node.op == node_name::kTake && count() == -1) || (node.op == node_name::kShard && count() == 1) ||
         (node.op == node_name::kMap && node.operations.empty());
}

}  // namespace

DataGraph drop_no_ops(DataGraph graph) {
  std::vector<std::string> drop;
  for (const Node& node : graph.nodes) {
    if (does_nothing(node)) drop.push_back(node.id);
  }
  for (const std::string& id : drop) remove_node(graph, id);
  return graph;
}

}  // namespace ridgeline::data
