// Gradients of the pointwise ops. Each is a product of pointwise ops, summed over the axes along which the operand was
// broadcast.
#include "ridgeline/graph/grad/builders.h"

namespace ridgeline {
namespace {

using Ids = std::vector<ValueId>;

// The gradient of operand i, `make()` evaluated only when it is wanted, brought to the operand's shape.
template <class F>
ValueId operand(GradientScope& s, const ForwardOp& op, std::size_t i, F&& make) {
  if (!op.wanted[i]) return kNoValue;
  return s.unbroadcast(make(), s.shape(op.x(i)));
}

Ids add(GradientScope& s, const ForwardOp& op) {
  return {operand(s, op, 0, [&] { return op.dy(); }), operand(s, op, 1, [&] { return op.dy(); })};
}

Ids sub(GradientScope& s, const ForwardOp& op) {
  return {operand(s, op, 0, [&] { return op.dy(); }), operand(s, op, 1, [&] { return s.apply("neg", {op.dy()}); })};
}

Ids mul(GradientScope& s, const ForwardOp& op) {
  return {operand(s, op, 0, [&] { return s.apply("mul", {op.dy(), op.x(1)}); }),
          operand(s, op, 1, [&] { return s.apply("mul", {op.dy(), op.x(0)}); })};
}

// z = x/y: dx = dz/y, dy = -dz*z/y.
Ids div(GradientScope& s, const ForwardOp& op) {
  return {operand(s, op, 0, [&] { return s.apply("div", {op.dy(), op.x(1)}); }), operand(s, op, 1, [&] {
            return s.apply("neg", {s.apply("div", {s.apply("mul", {op.dy(), op.y()}), op.x(1)})});
          })};
}

// The larger operand gets the gradient; of equal ones the first.
Ids extreme(GradientScope& s, const ForwardOp& op, std::size_t smaller, std::size_t larger) {
  const ValueId first = s.apply("less_equal", {op.x(smaller), op.x(larger)});
  const ValueId zero = s.constant(0.0, s.type(op.dy()).dtype);
  return {operand(s, op, 0, [&] { return s.apply("select", {first, op.dy(), zero}); }),
          operand(s, op, 1, [&] { return s.apply("select", {first, zero, op.dy()}); })};
}
Ids maximum(GradientScope& s, const ForwardOp& op) { return extreme(s, op, 1, 0); }
Ids minimum(GradientScope& s, const ForwardOp& op) { return extreme(s, op, 0, 1); }

Ids neg(GradientScope& s, const ForwardOp& op) { return {s.apply("neg", {op.dy()})}; }

// dy times the sign of x, 0 at 0.
Ids abs(GradientScope& s, const ForwardOp& op) {
  const ValueId zero = s.constant(0.0, s.type(op.dy()).dtype);
  const ValueId below = s.apply("select", {s.apply("less", {op.x(0), zero}), s.apply("neg", {op.dy()}), zero});
  return {s.apply("select", {s.apply("less", {zero, op.x(0)}), op.dy(), below})};
}

Ids exp(GradientScope& s, const ForwardOp& op) { return {s.apply("mul", {op.dy(), op.y()})}; }
Ids log(GradientScope& s, const ForwardOp& op) { return {s.apply("div", {op.dy(), op.x(0)})}; }
Ids sqrt(GradientScope& s, const ForwardOp& op) {
  return {s.apply("div", {s.apply("scale", {op.dy()}, {{"factor", 0.5}}), op.y()})};
}
Ids cos(GradientScope& s, const ForwardOp& op) {
  return {s.apply("neg", {s.apply("mul", {op.dy(), s.apply("sin", {op.x(0)})})})};
}
Ids sin(GradientScope& s, const ForwardOp& op) { return {s.apply("mul", {op.dy(), s.apply("cos", {op.x(0)})})}; }
Ids relu(GradientScope& s, const ForwardOp& op) { return {s.apply("relu_grad", {op.y(), op.dy()})}; }

// relu_grad(y, g): linear in g, flat in y.
Ids relu_grad(GradientScope& s, const ForwardOp& op) {
  return {kNoValue, operand(s, op, 1, [&] { return s.apply("relu_grad", {op.x(0), op.dy()}); })};
}

Ids select(GradientScope& s, const ForwardOp& op) {
  const ValueId zero = s.constant(0.0, s.type(op.dy()).dtype);
  return {kNoValue, operand(s, op, 1, [&] { return s.apply("select", {op.x(0), op.dy(), zero}); }),
          operand(s, op, 2, [&] { return s.apply("select", {op.x(0), zero, op.dy()}); })};
}

Ids cast(GradientScope& s, const ForwardOp& op) {
  const DType from = s.type(op.x(0)).dtype;
  if (!is_floating(from)) return {kNoValue};
  return {s.apply("cast", {op.dy()}, {{"to", from}})};
}

Ids scale(GradientScope& s, const ForwardOp& op) { return {s.apply("scale", {op.dy()}, op.node.attributes)}; }

// The same key, step and element draw the same mask.
Ids dropout(GradientScope& s, const ForwardOp& op) {
  return {s.apply("dropout", {op.dy(), op.x(1)}, op.node.attributes), kNoValue};
}

}  // namespace

std::vector<GradientRule> pointwise_gradients() {
  return {
      {"add", add},
      {"sub", sub},
      {"mul", mul},
      {"div", div},
      {"maximum", maximum},
      {"minimum", minimum},
      {"neg", neg},
      {"abs", abs},
      {"exp", exp},
      {"log", log},
      {"sqrt", sqrt},
      {"cos", cos},
      {"sin", sin},
      {"relu", relu},
      {"relu_grad", relu_grad, {false, true}},
      {"select", select, {false, true, true}},
      {"cast", cast},
      {"scale", scale},
      {"dropout", dropout, {true, false}},
      // Flat almost everywhere.
      {"floor"},
      {"less"},
      {"less_equal"},
      {"equal"},
      {"constant"},
  };
}

}  // namespace ridgeline
