// An op adds another value to its result (batch norm and the sum at the end of a residual block):
//   add(batch_norm(x), r)  ->  batch_norm(x, r)
// Keeps: every returned value and update, and the name of the op. Drops: the sum. Of two ops that could take it the
// later one does; it runs at the sum's position if the other summand is computed after it.
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/pass/fusion/patterns.h"

namespace ridgeline {
namespace {

// True when `node` has an optional operand for an addend, and none is given.
bool has_room(const Node& node) {
  const OpDef& def = op_def(node.op);
  return !def.operands.empty() && def.operands.back() == "addend" &&
         static_cast<int>(node.inputs.size()) + 1 == def.max_operands;
}

std::vector<Fusion> match_addend(const FusionPlace& place) {
  const Node& sum = place.node();
  if (sum.op != "add" || place.type(sum.inputs[0]) != place.type(sum.inputs[1])) return {};
  std::vector<Fusion> found;
  const bool first_is_later = place.uses.producer(sum.inputs[0]) > place.uses.producer(sum.inputs[1]);
  for (const bool first : {first_is_later, !first_is_later}) {
    const ValueId mine = sum.inputs[first ? 0 : 1];
    const ValueId other = sum.inputs[first ? 1 : 0];
    const int at = place.only_read_here(mine);
    if (at < 0) continue;
    Node node = place.graph.nodes[static_cast<std::size_t>(at)];
    if (node.outputs[0] != mine || !has_room(node) || node.attributes.string("activation") != "none") continue;
    const bool ready = place.uses.producer(other) < at;
    if (!ready && !may_run_later(place.graph, at, place.at)) continue;
    node.inputs.push_back(other);
    add_locations(node, sum);
    const FusedForm form{op_def(node.op).name, "add", place.type(mine).dtype};
    found.push_back({.changed = {{at, std::move(node)}},
                     .gone = {place.at},
                     .reread = {{sum.outputs[0], mine}},
                     .moved_to = ready ? -1 : place.at,
                     .form = form});
  }
  return found;
}

}  // namespace

const FusionPattern kFuseAddend{
    "fuse_addend", "merges conv2d, dense or batch norm with an addition that follows it, if the device can",
    match_addend};

}  // namespace ridgeline
