#include "ridgeline/graph/pass/fuse_epilogue.h"

#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {

Graph fuse_epilogue(Graph graph, PassContext& context) {
  const std::vector<int> producer = producers(graph);
  const std::vector<int> uses = use_counts(graph);
  for (const Node& after : graph.nodes) {
    if (after.inputs.size() != 1 || after.outputs.size() != 1) continue;
    const ValueId before = after.inputs[0];
    const int at = producer[static_cast<std::size_t>(before)];
    if (at < 0 || uses[static_cast<std::size_t>(before)] != 1) continue;
    Node& node = graph.nodes[static_cast<std::size_t>(at)];
    if (node.outputs[0] != before) continue;
    if (!context.fusion.takes_epilogue(node.op, after.op, graph.value(before).type.dtype)) continue;
    if (node.attributes.string("activation") != "none" || context.keep_apart.contains(node.name)) continue;
    node.attributes.set("activation", after.op);
    context.fused.insert(node.name);
    add_locations(node, after);
    graph.replace_uses(after.outputs[0], before);  // it reads itself now, and nobody reads it
  }
  remove_dead_nodes(graph);
  return graph;
}

}  // namespace ridgeline
