#include "ridgeline/data/pass/edit.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

bool does_nothing(const Node& node) {
  const auto count = [&] { return arg<std::int64_t>(node.args, "count"); };
  return (node.op == "repeat" && count() == 1) || (node.op == "skip" && count() == 0) ||
         (node.op == "take" && count() == -1) || (node.op == "shard" && count() == 1) ||
         (node.op == "map" && node.operations.empty());
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
