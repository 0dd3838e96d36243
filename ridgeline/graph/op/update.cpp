#include "ridgeline/graph/op/update.h"

#include <functional>

#include "ridgeline/graph/loop/builder.h"
#include "ridgeline/graph/op/pointwise.h"
#include "ridgeline/graph/op/rules.h"

namespace ridgeline {
namespace {

using loop::Expr;
using rules::fail;
using rules::optional;
using rules::required;

constexpr const char* kConditional = "conditional";

struct Form {
  std::string name;
  std::vector<std::string> updated;  // w first
  std::vector<std::string> scalars;  // behind the gradient
  std::string formula;
  std::vector<AttributeSpec> attributes;
  // The next values from the operands in their order (without the condition).
  std::function<std::vector<Expr>(const Attributes&, std::span<const Expr>)> next;
};

// w, its slots and the gradient alike, then floating scalars; the results are the next versions.
std::vector<ValueType> infer_update(const OpDef& def, std::size_t updated, const OpInstance& op) {
  const std::span<const ValueType> inputs = op.inputs;
  const bool conditional = op.attributes.boolean(kConditional);
  if (conditional != (inputs.size() == def.operands.size())) {
    fail(def.name,
         conditional ? "conditional, but without the operand apply" : "has an operand apply, but is not conditional");
  }
  expect_types(def.name, "w", inputs[0], kFloatingTypes);
  for (std::size_t i = 1; i <= updated; ++i) {
    if (inputs[i] != inputs[0]) {
      fail(def.name, def.operands[i] + " is " + inputs[i].to_string() + ", w is " + inputs[0].to_string() +
                         ": they must be alike");
    }
  }
  for (std::size_t i = updated + 1; i + 1 < def.operands.size(); ++i) {
    expect_types(def.name, def.operands[i], inputs[i], kFloatingTypes);
    if (inputs[i].shape.rank() != 0)
      fail(def.name, def.operands[i] + " is " + inputs[i].to_string() + "; a scalar is meant");
  }
  if (conditional && inputs.back() != ValueType{DType::boolean, Shape{}})
    fail(def.name, "apply is " + inputs.back().to_string() + "; bool[] is meant");
  return std::vector<ValueType>(updated, inputs[0]);
}

OpDef update_op(Form form) {
  const std::size_t updated = form.updated.size();
  std::vector<std::string> operands = form.updated;
  operands.emplace_back("g");
  operands.insert(operands.end(), form.scalars.begin(), form.scalars.end());
  const auto plain = static_cast<int>(operands.size());
  operands.emplace_back("apply");
  OpDef def = pointwise_op(form.name, operands, [updated, plain, next = form.next](const Attributes& attributes) {
    const bool conditional = attributes.boolean(kConditional);
    loop::Builder builder;
    std::vector<Expr> x;
    for (int i = 0; i < plain; ++i) x.push_back(builder.operand(i));
    std::vector<Expr> results = next(attributes, x);
    for (std::size_t i = 0; i < updated; ++i) {
      builder.store(conditional ? select(builder.operand(plain), results[i], x[i]) : results[i]);
    }
    return builder.finish(plain + (conditional ? 1 : 0));
  });
  def.min_operands = plain;
  def.formula = form.formula;
  def.results.clear();
  for (const std::string& name : form.updated) def.results.push_back("next_" + name);
  def.attributes = std::move(form.attributes);
  def.attributes.push_back(
      optional(kConditional, false, "whether there is an operand apply, the last one: false: nothing is updated"));
  def.traits |= kUpdate;
  def.gradient_operand = static_cast<int>(updated);
  def.infer = [shape = OpDef(def), updated](const OpInstance& op) { return infer_update(shape, updated, op); };
  finish_pointwise(def);
  return def;
}

AttributeSpec weight_decay() { return optional("weight_decay", 0.0, "added to the gradient as weight_decay * w"); }

// The gradient with the L2 penalty's.
Expr decayed(Expr w, Expr g, const Attributes& attributes) {
  const double factor = attributes.real("weight_decay");
  return factor == 0 ? g : g + factor * w;
}

Form sgd() {
  return {.name = "sgd",
          .updated = {"w"},
          .scalars = {"lr"},
          .formula = "w' = w - lr * (g + weight_decay * w)",
          .attributes = {weight_decay()},
          .next = [](const Attributes& a, std::span<const Expr> x) -> std::vector<Expr> {
            const Expr w = x[0], g = x[1], lr = x[2];
            return {w - lr * decayed(w, g, a)};
          }};
}

Form sgd_momentum() {
  return {.name = "sgd_momentum",
          .updated = {"w", "m"},
          .scalars = {"lr"},
          .formula =
              "s = g + weight_decay * w; a = momentum * m + s; w' = w - lr * (nesterov ? s + momentum * a : a); "
              "m' = a",
          .attributes = {required("momentum", 0.9, "momentum coefficient"),
                         optional("nesterov", false, "whether to use Nesterov momentum"), weight_decay()},
          .next = [](const Attributes& attributes, std::span<const Expr> x) -> std::vector<Expr> {
            const Expr w = x[0], m = x[1], g = x[2], lr = x[3];
            const double momentum = attributes.real("momentum");
            const Expr step = decayed(w, g, attributes);
            const Expr a = momentum * m + step;
            return {w - lr * (attributes.boolean("nesterov") ? step + momentum * a : a), a};
          }};
}

// Kingma and Ba, 2015; decoupled: Loshchilov and Hutter, 2019. The scalars that depend on the number of steps t are
// computed once for all parameters: size = lr / (1 - beta1^t), root = sqrt(1 - beta2^t).
Form adam() {
  return {
      .name = "adam",
      .updated = {"w", "m", "v"},
      .scalars = {"lr", "size", "root"},
      .formula =
          "s = g + weight_decay * w (if decoupled: g); m' = beta1 * m + (1 - beta1) * s; v' = beta2 * v + (1 - beta2) "
          "* s * s; w' = w - size * m' / (sqrt(v') / root + epsilon) (if decoupled: also - lr * weight_decay * w)",
      .attributes = {required("beta1", 0.9, "decay of the running mean of gradients"),
                     required("beta2", 0.999, "decay of the running mean of squared gradients"),
                     required("epsilon", 1e-8, "added to the root of the running mean of squared gradients"),
                     optional("decoupled", false,
                              "whether weight decay is applied to w directly instead of to the gradient (AdamW)"),
                     weight_decay()},
      .next = [](const Attributes& attributes, std::span<const Expr> x) -> std::vector<Expr> {
        const Expr w = x[0], m = x[1], v = x[2], g = x[3], lr = x[4], size = x[5], root = x[6];
        const double beta1 = attributes.real("beta1"), beta2 = attributes.real("beta2");
        const double decay = attributes.real("weight_decay");
        const bool decoupled = attributes.boolean("decoupled");
        const Expr s = decoupled ? g : decayed(w, g, attributes);
        const Expr kept = decoupled && decay != 0 ? w - lr * decay * w : w;
        const Expr mean = beta1 * m + (1 - beta1) * s;
        const Expr square = beta2 * v + (1 - beta2) * s * s;
        return {kept - size * mean / (sqrt(square) / root + attributes.real("epsilon")), mean, square};
      }};
}

// Tieleman and Hinton, 2012, as in PyTorch: epsilon is outside of the root.
Form rmsprop() {
  return {
      .name = "rmsprop",
      .updated = {"w", "v"},
      .scalars = {"lr"},
      .formula = "s = g + weight_decay * w; v' = rho * v + (1 - rho) * s * s; w' = w - lr * s / (sqrt(v') + epsilon)",
      .attributes = {required("rho", 0.99, "decay of the running mean of squared gradients"),
                     required("epsilon", 1e-8, "added to the root of the running mean of squared gradients"),
                     weight_decay()},
      .next = [](const Attributes& attributes, std::span<const Expr> x) -> std::vector<Expr> {
        const Expr w = x[0], v = x[1], lr = x[3];
        const double rho = attributes.real("rho");
        const Expr s = decayed(w, x[2], attributes);
        const Expr square = rho * v + (1 - rho) * s * s;
        return {w - lr * (s / (sqrt(square) + attributes.real("epsilon"))), square};
      }};
}

Form rmsprop_momentum() {
  Form form = rmsprop();
  form.name = "rmsprop_momentum";
  form.updated = {"w", "v", "m"};
  form.formula = "s, v' as in rmsprop; m' = momentum * m + s / (sqrt(v') + epsilon); w' = w - lr * m'";
  form.attributes.push_back(required("momentum", 0.9, "momentum coefficient"));
  form.next = [](const Attributes& attributes, std::span<const Expr> x) -> std::vector<Expr> {
    const Expr w = x[0], v = x[1], m = x[2], lr = x[4];
    const double rho = attributes.real("rho");
    const Expr s = decayed(w, x[3], attributes);
    const Expr square = rho * v + (1 - rho) * s * s;
    const Expr a = attributes.real("momentum") * m + s / (sqrt(square) + attributes.real("epsilon"));
    return {w - lr * a, square, a};
  };
  return form;
}

}  // namespace

std::vector<OpDef> update_ops() {
  return {update_op(sgd()), update_op(sgd_momentum()), update_op(adam()), update_op(rmsprop()),
          update_op(rmsprop_momentum())};
}

}  // namespace ridgeline
