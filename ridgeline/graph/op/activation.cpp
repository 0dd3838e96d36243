#include "ridgeline/graph/op/activation.h"

#include <numbers>

#include "ridgeline/graph/loop/builder.h"
#include "ridgeline/graph/op/pointwise.h"
#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using loop::define;
using loop::Expr;
using rules::fail;

// 1 / (1 + exp(-x)), without an overflow on either side.
Expr sigmoid(Expr x) {
  const Expr e = exp(-abs(x));
  return select(x < 0, e, 1) / (1 + e);
}

// By a quotient of polynomials below 1/2 (Lambert's continued fraction, cut behind x^2/13: exact to f64's roundings
// there), above by exp.
Expr tanh(Expr x) {
  const Expr z = x * x;
  const Expr near_zero = x * (135135 + z * (17325 + z * (378 + z))) / (135135 + z * (62370 + z * (3150 + z * 28)));
  const Expr e = exp(-2 * abs(x));
  const Expr size = (1 - e) / (1 + e);
  return select(abs(x) < 0.5, near_zero, select(x < 0, -size, size));
}

// The distribution function of N(0,1), (1 + erf(x / sqrt(2))) / 2, by the rational approximations of erf and erfc of
// W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23 (1969). On the left side it is
// erfc, so that small values keep their digits. It is flat beyond |x| = 22, where f32 has zero.
Expr normal_distribution(Expr x) {
  const Expr t = x * (1 / std::numbers::sqrt2);
  const Expr z = t * t;
  const Expr erf = t *
                   (3.20937758913846947e3 +
                    z * (3.77485237685302021e2 +
                         z * (1.13864154151050156e2 + z * (3.16112374387056560e0 + z * 1.85777706184603153e-1)))) /
                   (2.84423683343917062e3 +
                    z * (1.28261652607737228e3 + z * (2.44024637934444173e2 + z * (2.36012909523441209e1 + z))));
  const Expr y = min(abs(t), 16);
  const Expr above = 1.23033935479799725e3 +
                     y * (2.05107837782607147e3 +
                          y * (1.71204761263407058e3 +
                               y * (8.81952221241769090e2 +
                                    y * (2.98635138197400131e2 +
                                         y * (6.61191906371416295e1 +
                                              y * (8.88314979438837594e0 +
                                                   y * (5.64188496988670089e-1 + y * 2.15311535474403846e-8)))))));
  const Expr below = 1.23033935480374942e3 +
                     y * (3.43936767414372164e3 +
                          y * (4.36261909014324716e3 +
                               y * (3.29079923573345963e3 +
                                    y * (1.62138957456669019e3 +
                                         y * (5.37181101862009858e2 +
                                              y * (1.17693950891312499e2 + y * (1.57449261107098347e1 + y)))))));
  const Expr half_erfc = 0.5 * exp(-(y * y)) * (above / below);
  return select(abs(t) < 0.46875, 0.5 + 0.5 * erf, select(t < 0, half_erfc, 1 - half_erfc));
}

constexpr double kTanhFormFactor = 0.7978845608028654;  // sqrt(2 / pi)
constexpr double kTanhFormCubic = 0.044715;             // Hendrycks and Gimpel 2016

// y of gelu; its derivative where `derivative`.
Expr gelu(Expr x, bool by_tanh, bool derivative) {
  if (by_tanh) {
    // (1 + tanh(u)) / 2 is the sigmoid of 2u.
    const Expr share = sigmoid(2 * kTanhFormFactor * (x + kTanhFormCubic * (x * x * x)));
    if (!derivative) return x * share;
    const Expr slope = 2 * kTanhFormFactor * (1 + 3 * kTanhFormCubic * (x * x));
    return share + x * slope * (share * (1 - share));
  }
  const Expr share = normal_distribution(x);
  if (!derivative) return x * share;
  const double density = kTanhFormFactor / 2;  // 1 / sqrt(2 pi)
  return share + x * (density * exp(-0.5 * (x * x)));
}

// Operands of one floating type and shape.
OpDef activation(std::string name, std::vector<std::string> operands, std::string formula,
                 std::function<loop::Expression(const Attributes&)> expression) {
  OpDef def = pointwise_op(name, operands, std::move(expression));
  def.formula = std::move(formula);
  def.infer = [name, operands](const OpInstance& op) -> std::vector<ValueType> {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      expect_types(name, operands[i], op.inputs[i], kFloatingTypes);
      if (op.inputs[i] != op.inputs[0]) {
        fail(name, operands[0] + " is " + op.inputs[0].to_string() + " and " + operands[i] + " is " +
                       op.inputs[i].to_string() + ": one type and shape is meant");
      }
    }
    return {op.inputs[0]};
  };
  return def;
}

template <int N, class F>
OpDef plain(std::string name, std::vector<std::string> operands, std::string formula, const F& body) {
  return activation(std::move(name), std::move(operands), std::move(formula),
                    [expression = define<N>(body)](const Attributes&) { return expression; });
}

OpDef gelu_op(std::string name, std::vector<std::string> operands, std::string formula, bool gradient) {
  const auto by_tanh = [name](const Attributes& attributes) {
    const std::string& form = attributes.string("approximate");
    if (form != "none" && form != "tanh") fail(name, "unknown approximate '" + form + "' (allowed: none, tanh)");
    return form == "tanh";
  };
  OpDef def = activation(name, std::move(operands), std::move(formula), [=](const Attributes& attributes) {
    const bool form = by_tanh(attributes);
    if (gradient) return define<2>([&](Expr x, Expr dy) { return dy * gelu(x, form, true); });
    return define<1>([&](Expr x) { return gelu(x, form, false); });
  });
  def.attributes = {rules::optional("approximate", std::string("none"), "none (erf) or tanh")};
  def.infer = [infer = def.infer, by_tanh](const OpInstance& op) {
    by_tanh(op.attributes);
    return infer(op);
  };
  return def;
}

}  // namespace

std::vector<OpDef> activation_ops() {
  std::vector<OpDef> ops = {
      plain<1>("relu6", {"x"}, "min(max(x, 0), 6)", [](Expr x) { return min(max(x, 0), 6); }),
      plain<2>("relu6_grad", {"y", "dy"}, "y <= 0 or y >= 6 ? 0 : dy",
               [](Expr y, Expr dy) { return select(y <= 0, 0, select(y >= 6, 0, dy)); }),
      plain<1>("sigmoid", {"x"}, "1 / (1 + exp(-x))", [](Expr x) { return sigmoid(x); }),
      plain<2>("sigmoid_grad", {"y", "dy"}, "dy * y * (1 - y)", [](Expr y, Expr dy) { return dy * (y * (1 - y)); }),
      plain<1>("tanh", {"x"}, "(1 - exp(-2x)) / (1 + exp(-2x))", [](Expr x) { return tanh(x); }),
      plain<2>("tanh_grad", {"y", "dy"}, "dy * (1 - y * y)", [](Expr y, Expr dy) { return dy * (1 - y * y); }),
      plain<1>("silu", {"x"}, "x * sigmoid(x)", [](Expr x) { return x * sigmoid(x); }),
      plain<2>("silu_grad", {"x", "dy"}, "dy * (s + x * s * (1 - s)), s = sigmoid(x)",
               [](Expr x, Expr dy) {
                 const Expr s = sigmoid(x);
                 return dy * (s + x * (s * (1 - s)));
               }),
      gelu_op("gelu", {"x"}, "x * (1 + erf(x / sqrt(2))) / 2, or x * (1 + tanh(0.79788 * (x + 0.044715 x^3))) / 2",
              false),
      gelu_op("gelu_grad", {"x", "dy"}, "dy * gelu'(x), the derivative of gelu at x", true),
  };
  for (OpDef& op : ops) finish_pointwise(op);
  return ops;
}

}  // namespace ridgeline
