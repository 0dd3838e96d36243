// An op applies the pointwise op that follows it, where nothing else reads the op's own result:
//   relu(conv2d(x, w))  ->  conv2d(x, w) {activation="relu"}
// Keeps: every returned value and update, and the name of the op. Drops: the pointwise op.
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/pass/fusion/patterns.h"

namespace ridgeline {
namespace {

std::vector<Fusion> match_epilogue(const FusionPlace& place) {
  const Node& after = place.node();
  if (after.inputs.size() != 1 || after.outputs.size() != 1) return {};
  const ValueId before = after.inputs[0];
  const int at = place.only_read_here(before);
  if (at < 0) return {};
  Node node = place.graph.nodes[static_cast<std::size_t>(at)];
  const Attribute* const activation = node.attributes.find("activation");
  if (node.outputs[0] != before || activation == nullptr || *activation != Attribute(std::string("none"))) return {};
  node.attributes.set("activation", after.op);
  add_locations(node, after);
  const FusedForm form{op_def(node.op).name, op_def(after.op).name, place.type(before).dtype};
  return {
      {.changed = {{at, std::move(node)}}, .gone = {place.at}, .reread = {{after.outputs[0], before}}, .form = form}};
}

}  // namespace

const FusionPattern kFuseEpilogue{
    "fuse_epilogue",
    "merges conv2d, dense or batch norm with a relu (batch norm: or relu6) that follows it, if the device can",
    match_epilogue};

}  // namespace ridgeline
