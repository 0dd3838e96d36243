// The gradient of a relu is computed on max pooling's result instead of its operand, which is larger: a window's
// maximum is above zero exactly where the pixel that it came from is.
//   relu_grad(y, max_pool_bwd(dy, index))  ->  max_pool_bwd(relu_grad(pooled, dy), index)
//   where pooled, index = max_pool(y)
// Only where the device has kernels of both ops for the type of dy.
// Keeps: every returned value and update (zeros may change their sign). Changes: the order of the two ops.
#include <algorithm>

#include "ridgeline/graph/pass/fusion/patterns.h"

namespace ridgeline {
namespace {

// Only then is `pooled` what the index refers to.
bool same_windows(const Node& forward, const Node& backward) {
  return std::all_of(forward.attributes.begin(), forward.attributes.end(), [&](const auto& attribute) {
    const Attribute* other = backward.attributes.find(attribute.first);
    return other != nullptr && *other == attribute.second;
  });
}

std::vector<Fusion> match_narrow_relu_grad(const FusionPlace& place) {
  const Node& gate = place.node();
  if (gate.op != "relu_grad" || place.type(gate.inputs[0]) != place.type(gate.inputs[1])) return {};
  const ValueId y = gate.inputs[0], wide = gate.inputs[1];
  const int pool_at = place.only_read_here(wide, "max_pool_bwd");
  if (pool_at < 0) return {};
  const Node& pool = place.graph.nodes[static_cast<std::size_t>(pool_at)];
  const int forward_at = place.uses.producer(pool.inputs[1]);
  if (forward_at < 0) return {};
  const Node& forward = place.graph.nodes[static_cast<std::size_t>(forward_at)];
  if (forward.op != "max_pool" || forward.inputs[0] != y || !same_windows(forward, pool)) return {};
  const ValueId dy = pool.inputs[0];
  const auto narrow = static_cast<ValueId>(place.graph.values.size());
  Node first = gate, second = pool;
  first.inputs = {forward.outputs[0], dy};
  first.outputs = {narrow};
  second.inputs[0] = narrow;
  second.outputs = gate.outputs;
  return {{.changed = {{pool_at, std::move(first)}, {place.at, std::move(second)}},
           .values = {{place.type(dy), place.graph.value(wide).kind, ""}}}};
}

}  // namespace

const FusionPattern kNarrowReluGrad{
    .name = "narrow_relu_grad",
    .doc = "computes the gradient of a relu before max pooling on the pooled values, if the device can",
    .match = match_narrow_relu_grad,
    .exchanges = true};

}  // namespace ridgeline
