#include "tests/device/cuda/dense_updates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/op/dense_update.h"
#include "tests/device/cuda/op_support.h"

namespace ridgeline::cuda::testing {
namespace {

struct UpdateRule {
  std::string op;
  Attributes attributes;
};

const std::vector<UpdateRule>& update_rules() {
  static const std::vector<UpdateRule> rules = {
      {"sgd", {}},
      {"sgd", {{"weight_decay", 0.125}}},
      {"sgd_momentum", {{"momentum", 0.9}}},
      {"sgd_momentum", {{"momentum", 0.9}, {"nesterov", true}, {"weight_decay", 0.0005}}},
      {"adam", {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}, {"weight_decay", 0.01}}},
      {"adam", {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}, {"weight_decay", 0.01}, {"decoupled", true}}},
      {"rmsprop", {{"rho", 0.99}, {"epsilon", 1e-8}, {"weight_decay", 0.01}}},
      {"rmsprop_momentum", {{"rho", 0.99}, {"epsilon", 1e-8}, {"momentum", 0.9}, {"weight_decay", 0.01}}}};
  return rules;
}

struct UpdateSizes {
  std::int64_t rows, inputs, outputs;
};

struct UpdateForm {
  bool conditional = false, bias = false, squares = false;
  std::string copy;  // "", "bf16" or "f16"
  DType values = DType::bf16;
};

Tensor whole_numbers(Values& values, DType type, Shape shape, int reach) {
  Tensor t = values.integers(type, std::move(shape), 2 * reach + 1);
  for (std::int64_t i = 0; i < t.elements(); ++i) t.set(i, t.at(i) - reach);
  return t;
}

NodeProblem update_problem(Values& values, const UpdateRule& rule, const UpdateForm& form, const UpdateSizes& sizes,
                           bool exact, bool with_nan) {
  const OpDef& def = op_def(rule.op);
  Attributes attributes = rule.attributes;
  attributes.set("conditional", form.conditional);
  attributes = complete_attributes(def, attributes);
  const auto states = static_cast<std::size_t>(def.gradient_operand);
  std::string expression = loop::to_string(def.expression(attributes));
  if (!form.copy.empty()) {
    // The copy is the new weight, rounded: the first result again.
    loop::Expression with = loop::parse(expression);
    loop::Result copy = with.results[0];
    copy.type = form.copy == "f16" ? DType::f16 : DType::bf16;
    with.results.push_back(copy);
    expression = loop::to_string(with);
  }
  std::vector<Tensor> operands;
  const Shape weights{sizes.outputs, sizes.inputs};
  operands.push_back(whole_numbers(values, DType::f32, weights, 16));
  for (std::int64_t i = 0; i < operands[0].elements(); ++i) operands[0].set(i, operands[0].at(i) / 4);
  for (std::size_t i = 1; i < states; ++i) operands.push_back(values.uniform(DType::f32, weights, 0.25, 1.25));
  for (const Shape& shape : {Shape{sizes.rows, sizes.inputs}, Shape{sizes.rows, sizes.outputs}}) {
    operands.push_back(exact ? whole_numbers(values, form.values, shape, 4)
                             : values.uniform(form.values, shape, -2, 2));
    if (with_nan) operands.back().set(values.random()() % operands.back().elements(), std::nan(""));
  }
  for (std::size_t i = states + 1; i + 1 < def.operands.size(); ++i)
    operands.push_back(values.uniform(DType::f32, Shape{}, 0.25, 0.75));
  if (form.conditional) {
    operands.emplace_back(DType::boolean, Shape{});
    operands.back().set(0, values.random()() % 4 == 0 ? 0 : 1);
  }
  return {"dense_update",
          std::move(operands),
          {{"expression", expression},
           {"states", static_cast<std::int64_t>(states)},
           {"bias", form.bias},
           {"squares", form.squares}}};
}

}  // namespace

UpdateCase random_update(unsigned seed) {
  Values values(seed + 7000);
  const UpdateRule& rule = update_rules()[values.random()() % update_rules().size()];
  UpdateForm form{values.coin(), values.coin(), values.coin(), "", values.coin() ? DType::bf16 : DType::f16};
  const char* const copies[] = {"", "bf16", "f16"};
  form.copy = copies[values.random()() % 3];
  const UpdateSizes sizes{values.pick({1, 2, 15, 16, 17, 31, 33, 65, 97, 128, 200, 256}),
                          values.pick({1, 3, 8, 40, 100, 127, 128, 129, 136, 264}),
                          values.pick({1, 5, 8, 63, 64, 65, 72})};
  const bool exact = seed % 2 == 0;
  return {update_problem(values, rule, form, sizes, exact, seed % 5 == 0), exact};
}

std::vector<NodeProblem> all_updates() {
  std::vector<NodeProblem> all;
  Values values(1);
  for (const UpdateRule& rule : update_rules()) {
    const UpdateForm form{true, true, true, "bf16", all.size() % 2 == 0 ? DType::bf16 : DType::f16};
    all.push_back(update_problem(values, rule, form, {4, 8, 8}, true, false));
  }
  return all;
}

std::string text_of(const UpdateCase& c) {
  const DenseUpdate at(c.problem.node.attributes);
  return fmt::format("x {} {}, dy {}, {}{}{}{}", name_of(c.problem.inputs[at.x()].dtype()),
                     c.problem.inputs[at.x()].shape().to_string(), c.problem.inputs[at.dy()].shape().to_string(),
                     c.problem.node.attributes.string("expression"), at.bias ? ", bias" : "",
                     at.squares ? ", squares" : "", c.exact ? ", exact" : "");
}

std::unique_ptr<UpdateKernel> kernel_of(const NodeProblem& update) {
  const DenseUpdate at(update.node.attributes);
  std::vector<DType> scalars, copies;
  for (std::size_t i = at.scalars(); i < update.inputs.size(); ++i) scalars.push_back(update.inputs[i].dtype());
  for (std::size_t r = at.copies(); r < update.outputs.size(); ++r) copies.push_back(update.outputs[r].dtype);
  loop::Expression expression = loop::parse(update.node.attributes.string("expression"));
  expression.operands = static_cast<std::int32_t>(update.inputs.size()) - 1;
  const Tensor& x = update.inputs[at.x()];
  auto made = update_text(expression, at, x.dtype(), scalars, copies);
  if (const auto* refusal = std::get_if<Refusal>(&made)) throw Error(refusal->reason);
  const DenseSizes sizes{x.shape()[0], x.shape()[1], update.inputs[at.dy()].shape()[1]};
  return std::make_unique<UpdateKernel>(std::get<UpdateText>(std::move(made)), sizes);
}

std::string unlike_reference(const UpdateCase& c, const std::vector<Tensor>& got) {
  const std::vector<Tensor> expected = c.problem.reference();
  for (std::size_t r = 0; r < expected.size(); ++r) {
    std::string wrong;
    if (c.exact) {
      wrong = unequal_bits(got[r], expected[r]);
    } else {
      double largest = 1;
      for (std::int64_t i = 0; i < expected[r].elements(); ++i) {
        if (!std::isnan(expected[r].at(i))) largest = std::max(largest, std::abs(expected[r].at(i)));
      }
      // 2^-14 of the largest and, where it is rounded once more, a spacing of the type.
      const double band = expected[r].dtype() == DType::f32 ? 0x1p9 : 2;
      wrong = outside_band(got[r], expected[r], band, largest);
    }
    if (!wrong.empty()) return fmt::format("result {}, {}", r, wrong);
  }
  return "";
}

}  // namespace ridgeline::cuda::testing
