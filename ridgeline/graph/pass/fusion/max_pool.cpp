// One launch computes a convolution and the max pooling that is its only reader:
//   max_pool(conv2d(x, w, b))  ->  conv2d_max_pool(x, w, b)
// Keeps: every returned value and update, and the name of conv2d. Drops: the image between both.
#include "ridgeline/graph/op/conv2d_max_pool.h"

#include "ridgeline/graph/pass/fusion/patterns.h"

namespace ridgeline {
namespace {

std::vector<Fusion> match_max_pool(const FusionPlace& place) {
  const Node& pool = place.node();
  if (pool.op != "max_pool") return {};
  const ValueId image = pool.inputs[0];
  const int at = place.only_read_here(image, "conv2d");
  if (at < 0) return {};
  Node node = place.graph.nodes[static_cast<std::size_t>(at)];
  if (node.inputs.size() > 3 || place.type(node.inputs[0]).dtype != place.type(image).dtype) return {};
  node.op = "conv2d_max_pool";
  node.attributes = conv2d_max_pool_attributes(node.attributes, pool.attributes);
  node.outputs = pool.outputs;
  add_locations(node, pool);
  return {{.changed = {{at, std::move(node)}}, .gone = {place.at}}};
}

}  // namespace

const FusionPattern kFuseMaxPool{"fuse_max_pool",
                                 "merges a convolution with the max pooling that is its only reader, if the device can",
                                 match_max_pool};

}  // namespace ridgeline
