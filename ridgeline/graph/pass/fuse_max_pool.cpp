#include "ridgeline/graph/pass/fuse_max_pool.h"

#include "ridgeline/graph/op/conv2d_max_pool.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {
namespace {

// Merges the max_pool at index `at` and the conv2d whose result it reads; false when it cannot.
bool merge_pool(Graph& graph, const ValueUses& uses, PassContext& context, int at) {
  const Node& pool = graph.nodes[static_cast<std::size_t>(at)];
  if (pool.op != "max_pool") return false;
  const ValueId image = pool.inputs[0];
  const DType type = graph.value(image).type.dtype;
  const int node_at = uses.producer(image);
  if (node_at < 0 || uses.count(image) != 1 || !context.fusion.pools.contains(type)) return false;
  const Node& node = graph.nodes[static_cast<std::size_t>(node_at)];
  if (node.op != "conv2d" || node.inputs.size() > 3 || graph.value(node.inputs[0]).type.dtype != type ||
      context.keep_apart.contains(node.name)) {
    return false;
  }
  Node merged = node;
  merged.op = "conv2d_max_pool";
  merged.attributes = conv2d_max_pool_attributes(node.attributes, pool.attributes);
  merged.outputs = pool.outputs;
  if (context.keeps_kernel && !context.keeps_kernel(graph, node, merged)) return false;
  add_locations(merged, pool);
  context.fused.insert(merged.name);
  graph.nodes[static_cast<std::size_t>(node_at)] = std::move(merged);
  graph.nodes.erase(graph.nodes.begin() + at);
  return true;
}

}  // namespace

Graph fuse_max_pool(Graph graph, PassContext& context) {
  ValueUses uses(graph);
  for (int at = 0; at < static_cast<int>(graph.nodes.size()); ++at) {
    if (!merge_pool(graph, uses, context, at)) continue;
    --at;
    uses = ValueUses(graph);
  }
  return graph;
}

}  // namespace ridgeline
