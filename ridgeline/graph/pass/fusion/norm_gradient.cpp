// batch_norm_bwd applies the gradient of the relu or relu6 after the batch norm, and adds two gradients before that:
//   batch_norm_bwd(x, relu_grad(y, add(a, b)))  ->  batch_norm_bwd(x, a, y, b) {gate, addend, passed}
// The gate is recomputed from x where relu(batch norm) is all there was, else read from y. Other readers of the gated
// gradient (the shortcut of a residual block) read a result of batch_norm_bwd, which runs at relu_grad's position.
// Keeps: every returned value and update, and the name of batch_norm_bwd. Drops: relu_grad and the sum.
#include <algorithm>

#include "ridgeline/graph/pass/fusion/patterns.h"

namespace ridgeline {
namespace {

struct GateOp {
  std::string_view op, activation;
  double ceiling;  // 0: none
};
constexpr GateOp kGates[] = {{"relu_grad", "relu", 0}, {"relu6_grad", "relu6", 6}};

const GateOp* gate_of(const Node& node) {
  const auto* const found =
      std::find_if(std::begin(kGates), std::end(kGates), [&](const GateOp& gate) { return gate.op == node.op; });
  return found == std::end(kGates) ? nullptr : found;
}

// The batch norm whose gradient `gradient` is, when y is activation(batch norm) and nothing else, or null.
const Node* batch_norm_of(const Graph& graph, const ValueUses& uses, const Node& gradient, ValueId y,
                          std::string_view activation) {
  const int at = uses.producer(y);
  if (at < 0) return nullptr;
  const Node& norm = graph.nodes[static_cast<std::size_t>(at)];
  const bool alone = norm.op == "batch_norm_train" && norm.outputs[0] == y && norm.inputs.size() == 5 &&
                     norm.attributes.string("activation") == activation;
  const bool same = alone && norm.inputs[0] == gradient.inputs[0] && norm.inputs[1] == gradient.inputs[2] &&
                    norm.outputs[1] == gradient.inputs[3] && norm.outputs[2] == gradient.inputs[4];
  return same ? &norm : nullptr;
}

bool plain(const Node& gradient) {
  return gradient.attributes.string("gate") == "none" && !gradient.attributes.boolean("addend") &&
         !gradient.attributes.boolean("passed");
}

std::vector<Fusion> match_norm_gradient(const FusionPlace& place) {
  Node node = place.node();
  if (node.op != "batch_norm_bwd" || !plain(node)) return {};
  const ValueId dy = node.inputs[1];
  const ValueType& type = place.type(dy);
  const int gate_at = place.uses.producer(dy);
  if (gate_at < 0) return {};
  const Node& gate = place.graph.nodes[static_cast<std::size_t>(gate_at)];
  const GateOp* const of = gate_of(gate);
  if (of == nullptr || place.type(gate.inputs[0]) != type || place.type(gate.inputs[1]) != type) return {};
  const ValueId y = gate.inputs[0];
  const Node* norm = batch_norm_of(place.graph, place.uses, node, y, of->activation);
  node.attributes.set("gate", std::string(norm != nullptr ? "of_x" : "of_y"));
  node.attributes.set("ceiling", of->ceiling);
  node.inputs[1] = gate.inputs[1];
  node.inputs.push_back(norm != nullptr ? norm->inputs[2] : y);
  add_locations(node, gate);
  Fusion fusion{.gone = {gate_at}, .form = FusedForm{"batch_norm_bwd", of->op, type.dtype}};
  if (const int sum_at = place.only_read_here(gate.inputs[1], "add"); sum_at >= 0) {
    const Node& sum = place.graph.nodes[static_cast<std::size_t>(sum_at)];
    if (place.type(sum.inputs[0]) == type && place.type(sum.inputs[1]) == type) {
      node.attributes.set("addend", true);
      node.inputs[1] = sum.inputs[0];
      node.inputs.push_back(sum.inputs[1]);
      add_locations(node, sum);
    }
  }
  // The gated gradient has other readers from its position on, so all operands of the gradient must exist there.
  const bool passed = place.uses.count(dy) > 1;
  const auto made_later = [&](ValueId id) { return place.uses.producer(id) > gate_at; };
  if (passed && std::any_of(node.inputs.begin(), node.inputs.end(), made_later)) return {};
  if (overwritten(place.graph, node, 0, passed ? gate_at : place.at)) return {};
  if (passed) {
    node.attributes.set("passed", true);
    const auto result = static_cast<ValueId>(place.graph.values.size());
    node.outputs.push_back(result);
    fusion.values = {{type, place.graph.value(dy).kind, ""}};
    fusion.reread = {{dy, result}};
    fusion.moved_to = gate_at;
  }
  fusion.changed.push_back({place.at, std::move(node)});
  return {std::move(fusion)};
}

}  // namespace

const FusionPattern kFuseNormGradient{"fuse_norm_gradient",
                                      "merges batch_norm_bwd with a relu or relu6 gradient and the addition of two "
                                      "gradients before it, if the device can",
                                      match_norm_gradient};

}  // namespace ridgeline
