#include "ridgeline/graph/pass/fuse_pool_gradient.h"

#include <algorithm>
#include <optional>

#include "ridgeline/graph/op/conv2d_max_pool_bwd.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {
namespace {

// A reader of the pool's gradient with the pool merged into it; nothing where it reads it as something else than dy.
std::optional<Node> merged_with(const Node& node, const Node& pool) {
  const bool to_data = node.op == "conv2d_bwd_data";
  if (!to_data && node.op != "conv2d_bwd_weights") return std::nullopt;
  const std::size_t at = to_data ? 0 : 1;
  const ValueId gradient = pool.outputs[0];
  if (node.inputs[at] != gradient || std::count(node.inputs.begin(), node.inputs.end(), gradient) != 1) {
    return std::nullopt;
  }
  Node merged = node;
  merged.op = to_data ? "conv2d_max_pool_bwd_data" : "conv2d_max_pool_bwd_weights";
  merged.attributes = pooled_gradient_attributes(node.attributes, pool.attributes);
  merged.inputs[at] = pool.inputs[0];
  merged.inputs.insert(merged.inputs.begin() + static_cast<std::ptrdiff_t>(at) + 1, pool.inputs[1]);
  add_locations(merged, pool);
  return merged;
}

// Whether an update between nodes `from` and `to` overwrites what node `from` reads.
bool overwritten(const Graph& graph, std::size_t from, std::size_t to) {
  const Node& pool = graph.nodes[from];
  for (std::size_t between = from + 1; between < to; ++between) {
    const Node& node = graph.nodes[between];
    for (std::size_t i = 0; i < updated_operands(node); ++i) {
      if (std::find(pool.inputs.begin(), pool.inputs.end(), node.inputs[i]) != pool.inputs.end()) return true;
    }
  }
  return false;
}

// Merges the max_pool_bwd at index `at` into all that read its result: into some of them it would save nothing, as the
// gradient is made anyway. False when it cannot.
bool merge_pool_gradient(Graph& graph, const ValueUses& uses, PassContext& context, int at) {
  const Node pool = graph.nodes[static_cast<std::size_t>(at)];
  if (pool.op != "max_pool_bwd") return false;
  const ValueId gradient = pool.outputs[0];
  if (!context.fusion.pool_gradients.contains(graph.value(gradient).type.dtype)) return false;
  std::vector<std::pair<std::size_t, Node>> readers;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (std::find(node.inputs.begin(), node.inputs.end(), gradient) == node.inputs.end()) continue;
    std::optional<Node> merged = merged_with(node, pool);
    if (!merged || context.keep_apart.contains(node.name) ||
        (context.keeps_kernel && !context.keeps_kernel(graph, node, *merged))) {
      return false;
    }
    readers.emplace_back(i, std::move(*merged));
  }
  if (readers.empty() || uses.count(gradient) != static_cast<int>(readers.size()) ||
      overwritten(graph, static_cast<std::size_t>(at), readers.back().first)) {
    return false;
  }
  for (auto& [reader, merged] : readers) {
    context.fused.insert(merged.name);
    graph.nodes[reader] = std::move(merged);
  }
  graph.nodes.erase(graph.nodes.begin() + at);
  return true;
}

}  // namespace

Graph fuse_pool_gradient(Graph graph, PassContext& context) {
  ValueUses uses(graph);
  for (int at = 0; at < static_cast<int>(graph.nodes.size()); ++at) {
    if (!merge_pool_gradient(graph, uses, context, at)) continue;
    --at;
    uses = ValueUses(graph);
  }
  return graph;
}

}  // namespace ridgeline
