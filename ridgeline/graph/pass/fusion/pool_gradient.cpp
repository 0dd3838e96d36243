// The gradients of a convolution read the gradient of the pooled image and its index, where the device has kernels that
// do so for all readers of the gradient of max pooling: merged into only some of them it would save nothing, as it is
// computed anyway.
//   conv2d_bwd_weights(x, max_pool_bwd(dy, index))  ->  conv2d_max_pool_bwd_weights(x, dy, index)
//   conv2d_bwd_data(max_pool_bwd(dy, index), w)     ->  conv2d_max_pool_bwd_data(dy, index, w)
// Keeps: every returned value and update, and the names of the convolution's gradients. Drops: max_pool_bwd.
#include <algorithm>
#include <optional>

#include "ridgeline/graph/op/conv2d_max_pool.h"
#include "ridgeline/graph/pass/fusion/patterns.h"

namespace ridgeline {
namespace {

// A reader of the pool's gradient with the pool merged into it; nothing where it reads that as another operand than dy.
std::optional<Node> merged_with(Node node, const Node& pool) {
  const bool to_data = node.op == "conv2d_bwd_data";
  if (!to_data && node.op != "conv2d_bwd_weights") return std::nullopt;
  const std::size_t at = to_data ? 0 : 1;
  const ValueId gradient = pool.outputs[0];
  if (node.inputs[at] != gradient || std::count(node.inputs.begin(), node.inputs.end(), gradient) != 1) {
    return std::nullopt;
  }
  node.op = to_data ? "conv2d_max_pool_bwd_data" : "conv2d_max_pool_bwd_weights";
  node.attributes = pooled_gradient_attributes(node.attributes, pool.attributes);
  node.inputs[at] = pool.inputs[0];
  node.inputs.insert(node.inputs.begin() + static_cast<std::ptrdiff_t>(at) + 1, pool.inputs[1]);
  add_locations(node, pool);
  return node;
}

std::vector<Fusion> match_pool_gradient(const FusionPlace& place) {
  const Node& pool = place.node();
  if (pool.op != "max_pool_bwd") return {};
  const ValueId gradient = pool.outputs[0];
  Fusion fusion{.gone = {place.at}};
  for (int n = place.at + 1; n < static_cast<int>(place.graph.nodes.size()); ++n) {
    const Node& node = place.graph.nodes[static_cast<std::size_t>(n)];
    if (std::find(node.inputs.begin(), node.inputs.end(), gradient) == node.inputs.end()) continue;
    std::optional<Node> merged = merged_with(node, pool);
    if (!merged) return {};
    fusion.changed.push_back({n, std::move(*merged)});
  }
  if (fusion.changed.empty() || place.uses.count(gradient) != static_cast<int>(fusion.changed.size()) ||
      overwritten(place.graph, pool, place.at + 1, fusion.changed.back().at)) {
    return {};
  }
  return {std::move(fusion)};
}

}  // namespace

const FusionPattern kFusePoolGradient{
    "fuse_pool_gradient",
    "merges the gradients of a convolution with the gradient of the max pooling after it, if the device can",
    match_pool_gradient};

}  // namespace ridgeline
