#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/pass/edit.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {
namespace {

// The map right below `node`, if nothing else reads it and both transform the same columns; else null.
Node* mergeable_input(DataGraph& graph, const Node& node) {
  if (node.op != node_name::kMap) return nullptr;
  Node& input = graph.node(node.inputs[0]);
  if (input.op != node_name::kMap || readers_of(graph, input.id).size() != 1 || columns_of(input) != columns_of(node))
    return nullptr;
  return &input;
}

bool fuse_one(DataGraph& graph) {
  for (const Node& node : graph.nodes) {
    Node* input = mergeable_input(graph, node);
    if (!input) continue;
    input->operations.insert(input->operations.end(), node.operations.begin(), node.operations.end());
    remove_node(graph, node.id);
    return true;
  }
  return false;
}

}  // namespace

DataGraph fuse_chains(DataGraph graph) {
  while (fuse_one(graph)) {
  }
  return graph;
}

}  // namespace ridgeline::data
