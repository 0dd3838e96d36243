// Gradients of the activations: one op each, from the result where that is enough, so that x may be overwritten.
#include "ridgeline/graph/grad/builders.h"

namespace ridgeline {
namespace {

using Operands = std::vector<ValueId>;

Operands relu6(GradientScope& s, const ForwardOp& op) { return {s.apply("relu6_grad", {op.y(), op.dy()})}; }
// relu6_grad(y, g): linear in g, flat in y.
Operands relu6_grad(GradientScope& s, const ForwardOp& op) {
  return {kNoValue, op.wanted[1] ? s.apply("relu6_grad", {op.x(0), op.dy()}) : kNoValue};
}
Operands sigmoid(GradientScope& s, const ForwardOp& op) { return {s.apply("sigmoid_grad", {op.y(), op.dy()})}; }
Operands tanh(GradientScope& s, const ForwardOp& op) { return {s.apply("tanh_grad", {op.y(), op.dy()})}; }
Operands silu(GradientScope& s, const ForwardOp& op) { return {s.apply("silu_grad", {op.x(0), op.dy()})}; }
Operands gelu(GradientScope& s, const ForwardOp& op) {
  return {s.apply_all("gelu_grad", {op.x(0), op.dy()}, op.node.attributes)};
}

}  // namespace

std::vector<GradientRule> activation_gradients() {
  return {
      {"relu6", relu6}, {"relu6_grad", relu6_grad, {false, true}}, {"sigmoid", sigmoid}, {"tanh", tanh}, {"silu", silu},
      {"gelu", gelu},
  };
}

}  // namespace ridgeline
