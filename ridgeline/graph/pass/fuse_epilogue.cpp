#include "ridgeline/graph/pass/fuse_epilogue.h"

#include <algorithm>

namespace ridgeline {

Graph fuse_epilogue(Graph graph) {
  const std::vector<int> producer = producers(graph);
  const std::vector<int> uses = use_counts(graph);
  for (const Node& relu : graph.nodes) {
    if (relu.op != "relu") continue;
    const ValueId before = relu.inputs[0];
    const int at = producer[static_cast<std::size_t>(before)];
    if (at < 0 || uses[static_cast<std::size_t>(before)] != 1) continue;
    Node& node = graph.nodes[static_cast<std::size_t>(at)];
    if (node.op != "conv2d" && node.op != "dense") continue;
    if (node.attributes.string("activation") != "none") continue;
    node.attributes.set("activation", std::string("relu"));
    for (const Location& where : relu.where) {
      if (std::find(node.where.begin(), node.where.end(), where) == node.where.end()) node.where.push_back(where);
    }
    graph.replace_uses(relu.outputs[0], before);  // the relu reads itself now and nobody it
  }
  remove_dead_nodes(graph);
  return graph;
}

}  // namespace ridgeline
