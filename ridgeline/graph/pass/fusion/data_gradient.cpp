// conv2d_bwd_data applies the gradient of the relu that made the convolution's image, where nothing else reads the
// gradient before it:
//   relu_grad(y, conv2d_bwd_data(dy, w))  ->  conv2d_bwd_data(dy, w, y)
// Keeps: every returned value and update, and the name of conv2d_bwd_data. Drops: relu_grad.
#include "ridgeline/graph/pass/fusion/patterns.h"

namespace ridgeline {
namespace {

std::vector<Fusion> match_data_gradient(const FusionPlace& place) {
  const Node& gate = place.node();
  if (gate.op != "relu_grad") return {};
  const ValueId y = gate.inputs[0], dx = gate.inputs[1];
  const int at = place.only_read_here(dx, "conv2d_bwd_data");
  if (at < 0 || place.uses.producer(y) >= at || place.type(y) != place.type(dx)) return {};
  Node node = place.graph.nodes[static_cast<std::size_t>(at)];
  if (node.inputs.size() != 2) return {};
  node.inputs.push_back(y);
  add_locations(node, gate);
  return {{.changed = {{at, std::move(node)}}, .gone = {place.at}, .reread = {{gate.outputs[0], dx}}}};
}

}  // namespace

const FusionPattern kFuseDataGradient{
    "fuse_data_gradient", "merges conv2d_bwd_data with the relu gradient that follows it, if the device can",
    match_data_gradient};

}  // namespace ridgeline
