// The update of a dense layer's weights computes their gradient, which is then never written to memory:
//   sgd_momentum(w, m, dense_bwd_weights(x, dy), rate)  ->  dense_update(w, m, x, dy, rate)
// Where something else reads the gradient as well (a norm of gradients, a sum over several steps), both ops stay. The
// new op has the update's position and name.
// Keeps: values, bit by bit. Drops: the gradient.
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/pass/fusion/patterns.h"

namespace ridgeline {
namespace {

// An update of one f32 matrix by a loop expression over its states, a gradient and scalars.
bool matrix_update(const Graph& graph, const Node& node) {
  const OpDef& def = op_def(node.op);
  const std::size_t states = node.outputs.size();
  if (!def.has(kUpdate) || !def.has(kPointwise) || static_cast<std::size_t>(def.gradient_operand) != states)
    return false;
  const ValueType type = graph.value(node.outputs[0]).type;
  if (type.dtype != DType::f32 || type.shape.rank() != 2) return false;
  for (std::size_t i = states + 1; i < node.inputs.size(); ++i) {
    const ValueType& scalar = graph.value(node.inputs[i]).type;
    if (scalar.shape.rank() != 0 || (scalar.dtype != DType::f32 && scalar.dtype != DType::boolean)) return false;
  }
  return true;
}

Node merged(const Node& gradient, const Node& update) {
  const std::size_t states = update.outputs.size();
  const auto states_end = update.inputs.begin() + static_cast<std::ptrdiff_t>(states);
  const bool bias = gradient.outputs.size() == 2;
  Node node;
  node.op = "dense_update";
  node.name = update.name;
  node.attributes = complete_attributes(
      op_def(node.op), {{"expression", loop::to_string(op_def(update.op).expression(update.attributes))},
                        {"states", static_cast<std::int64_t>(states)},
                        {"bias", bias}});
  node.inputs.assign(update.inputs.begin(), states_end);
  node.inputs.insert(node.inputs.end(), gradient.inputs.begin(), gradient.inputs.end());
  node.inputs.insert(node.inputs.end(), states_end + 1, update.inputs.end());
  node.outputs = update.outputs;
  if (bias) node.outputs.push_back(gradient.outputs[1]);
  add_locations(node, gradient);
  add_locations(node, update);
  return node;
}

std::vector<Fusion> match_dense_update(const FusionPlace& place) {
  const Node& update = place.node();
  if (!matrix_update(place.graph, update)) return {};
  const ValueId dw = update.inputs[update.outputs.size()];
  const int made = place.only_read_here(dw, "dense_bwd_weights");
  if (made < 0 || !may_run_later(place.graph, made, place.at)) return {};
  const Node& gradient = place.graph.nodes[static_cast<std::size_t>(made)];
  if (gradient.outputs[0] != dw) return {};
  const ValueType& x = place.type(gradient.inputs[0]);
  return {{.changed = {{place.at, merged(gradient, update)}},
           .gone = {made},
           .form = FusedForm{.op = "dense_update",
                             .with = "",
                             .type = x.dtype,
                             .rows = x.shape[0],
                             .weights = place.type(update.outputs[0]).shape.elements()}}};
}

}  // namespace

const FusionPattern kFuseDenseUpdate{
    "fuse_dense_update",
    "computes the gradient of dense weights in their update, if nothing else reads it and the device can",
    match_dense_update};

}  // namespace ridgeline
