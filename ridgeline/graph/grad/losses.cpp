// Gradients of softmax, the losses and penalties. Metrics have none.
#include "ridgeline/graph/grad/builders.h"

namespace ridgeline {
namespace {

using Ids = std::vector<ValueId>;

Ids softmax(GradientScope& s, const ForwardOp& op) {
  return {s.apply("softmax_bwd", {op.y(), op.dy()}, op.node.attributes)};
}

Ids softmax_cross_entropy(GradientScope& s, const ForwardOp& op) {
  ValueId dlogits = kNoValue;
  if (op.has_dy(0)) {
    std::vector<ValueId> inputs = {op.y(1), op.x(1), op.dy(0)};
    if (op.node.inputs.size() == 3) inputs.push_back(op.x(2));
    dlogits = s.apply("softmax_cross_entropy_bwd", std::move(inputs), op.node.attributes);
  }
  if (op.has_dy(1)) {
    const ValueId more = s.apply("softmax_bwd", {op.y(1), op.dy(1)});
    dlogits = dlogits == kNoValue ? more : s.apply("add", {dlogits, more});
  }
  Ids results(op.node.inputs.size(), kNoValue);
  results[0] = dlogits;
  return results;
}

Ids l2_penalty(GradientScope& s, const ForwardOp& op) {
  Ids results(op.node.inputs.size(), kNoValue);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (op.wanted[i]) results[i] = s.apply("mul", {s.apply("scale", {op.x(i)}, op.node.attributes), op.dy()});
  }
  return results;
}

}  // namespace

std::vector<GradientRule> loss_gradients() {
  return {{"softmax", softmax},
          {"softmax_cross_entropy", softmax_cross_entropy, {true, false, false}},
          {"l2_penalty", l2_penalty},
          {"top_k_accuracy"},
          {"argmax_accuracy"}};
}

}  // namespace ridgeline
