// Every op with the rows of op_rows.cpp: shapes computed by hand, f32 against f64, and the gradient of differentiate()
// against central finite differences.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/grad/differentiate.h"
#include "ridgeline/graph/grad/gradient.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/op/evaluate.h"
#include "tests/graph/op_rows.h"

namespace ridgeline::test {
namespace {

std::vector<Tensor> operands_of(const OpRow& row, DType floating) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < row.operands.size(); ++i)
    tensors.push_back(make_operand(row.operands[i], floating, i + 1));
  return tensors;
}

std::vector<Tensor> run(const OpRow& row, std::span<const Tensor> operands) {
  const OpDef& def = op_def(row.op);
  return run_reference(def, operands, complete_attributes(def, row.attributes), row.op);
}

std::string describe(const OpRow& row, std::size_t index) {
  std::string text = "row " + std::to_string(index) + ": " + row.op + "(";
  for (const OperandSpec& operand : row.operands) text += " " + operand.shape.to_string();
  text += " )";
  for (const auto& [name, value] : row.attributes) text += " " + name + "=" + to_string(value);
  return text;
}

// A graph of the op and a loss that weights every element of the results in row.through differently.
struct Harness {
  Graph graph;
  ValueId loss = kNoValue;
  std::vector<ValueId> operands;
  Arguments arguments;
};

Harness harness_of(const OpRow& row) {
  Harness harness;
  const DType floating = row.f32_only ? DType::f32 : DType::f64;
  const std::vector<Tensor> tensors = operands_of(row, floating);
  GraphBuilder b("row");
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    inputs.push_back(b.input(name, {tensors[i].dtype(), tensors[i].shape()}));
    harness.arguments[name] = tensors[i];
    harness.operands.push_back(inputs.back().id());
  }
  const std::vector<Value> results = b.apply_all(row.op, inputs, row.attributes, {});
  Value loss;
  for (int i : row.through) {
    Value result = results[static_cast<std::size_t>(i)];
    if (!is_floating(result.dtype())) result = b.apply("cast", {result}, {{"to", floating}});
    const std::string name = "weight" + std::to_string(i);
    const Value weight = b.input(name, result.type());
    harness.arguments[name] =
        make_operand({result.shape(), Fill::uniform}, result.dtype(), 100 + static_cast<std::uint64_t>(i));
    const Value term = b.apply("reduce_sum", {b.apply("mul", {result, weight})});
    loss = loss.defined() ? b.apply("add", {loss, term}) : term;
  }
  b.returns("loss", loss);
  harness.loss = loss.id();
  harness.graph = b.finish();
  return harness;
}

double loss_of(const Graph& graph, const Arguments& arguments) { return evaluate_returns(graph, arguments)[0].at(0); }

void expect_finite_differences_agree(const OpRow& row) {
  const Harness harness = harness_of(row);
  Graph extended = harness.graph;
  const std::vector<ValueId> gradients = differentiate(extended, harness.loss, harness.operands);
  verify(extended);
  const std::vector<Tensor> values = evaluate(extended, harness.arguments);
  const GradientRule* rule = find_gradient(row.op);
  ASSERT_NE(rule, nullptr);

  int checked = 0;
  for (std::size_t i = 0; i < row.operands.size(); ++i) {
    const ValueId gradient = gradients[i];
    if (row.operands[i].fill == Fill::integers || !rule->flows_to(i)) {
      EXPECT_EQ(gradient, kNoValue) << "operand " << i;
      continue;
    }
    ASSERT_NE(gradient, kNoValue) << "operand " << i;
    EXPECT_EQ(extended.value(gradient).kind, ValueKind::grad);
    const Tensor& analytic = values[static_cast<std::size_t>(gradient)];
    ASSERT_EQ(analytic.shape(), row.operands[i].shape);
    double scale = 1e-3;
    for (std::int64_t e = 0; e < analytic.elements(); ++e) scale = std::max(scale, std::abs(analytic.at(e)));
    // Of large operands, only samples of elements are tested.
    const std::int64_t stride = std::max<std::int64_t>(1, analytic.elements() / 40);
    const std::string name = "x" + std::to_string(i);
    for (std::int64_t e = 0; e < analytic.elements(); e += stride) {
      constexpr double kStep = 1e-5;
      Arguments moved = harness.arguments;
      moved[name] = harness.arguments.at(name).clone();
      const double centre = moved[name].at(e);
      moved[name].set(e, centre + kStep);
      const double above = loss_of(harness.graph, moved);
      moved[name].set(e, centre - kStep);
      const double below = loss_of(harness.graph, moved);
      EXPECT_NEAR(analytic.at(e), (above - below) / (2 * kStep), 1e-6 * scale) << "operand " << i << " element " << e;
      ++checked;
    }
  }
  EXPECT_GT(checked, 0);
}

TEST(OpTable, EveryOpHasARow) {
  std::set<std::string> tested;
  for (const OpRow& row : op_rows()) tested.insert(row.op);
  for (const OpDef& def : all_ops()) {
    if (def.has(kCall)) continue;  // its types are those of the function: op_evaluate_test.cpp and the inliner's tests
    EXPECT_TRUE(tested.contains(def.name)) << "add rows for " << def.name << " to tests/graph/op_rows.cpp";
  }
}

TEST(OpTable, EveryOpSaysWhetherItHasAGradient) {
  for (const OpDef& def : all_ops()) EXPECT_NE(find_gradient(def.name), nullptr) << def.name;
  for (const GradientRule& rule : gradient_rules()) EXPECT_NE(find_op(rule.op), nullptr) << rule.op;
}

TEST(OpTable, EveryDefinitionIsComplete) {
  for (const OpDef& def : all_ops()) {
    EXPECT_FALSE(def.formula.empty()) << def.name;
    EXPECT_FALSE(def.results.empty()) << def.name;
    EXPECT_TRUE(def.infer) << def.name;
    EXPECT_EQ(static_cast<bool>(def.reference), !def.has(kCall)) << def.name;
    EXPECT_EQ(static_cast<bool>(def.expression), def.has(kPointwise)) << def.name;
    for (const AttributeSpec& spec : def.attributes) EXPECT_FALSE(spec.meaning.empty()) << def.name << " " << spec.name;
  }
}

TEST(OpTable, ShapesAreThoseWorkedOutByHand) {
  for (std::size_t i = 0; i < op_rows().size(); ++i) {
    const OpRow& row = op_rows()[i];
    SCOPED_TRACE(describe(row, i));
    const std::vector<Tensor> results = run(row, operands_of(row, DType::f32));
    ASSERT_EQ(results.size(), row.results.size());
    for (std::size_t r = 0; r < results.size(); ++r) EXPECT_EQ(results[r].shape(), row.results[r]);
  }
}

TEST(OpTable, SingleAndDoublePrecisionAgree) {
  for (std::size_t i = 0; i < op_rows().size(); ++i) {
    const OpRow& row = op_rows()[i];
    if (row.f32_only) continue;
    SCOPED_TRACE(describe(row, i));
    const std::vector<Tensor> narrow = run(row, operands_of(row, DType::f32));
    const std::vector<Tensor> wide = run(row, operands_of(row, DType::f64));
    for (std::size_t r = 0; r < narrow.size(); ++r) {
      for (std::int64_t e = 0; e < narrow[r].elements(); ++e) {
        ASSERT_NEAR(narrow[r].at(e), wide[r].at(e), 1e-5 * (1 + std::abs(wide[r].at(e))))
            << "result " << r << " element " << e;
      }
    }
  }
}

// Each extent of a row in turn becomes zero everywhere. If the shape rule accepts it, the reference must, too.
TEST(OpTable, ReferencesTakeOperandsWithoutElements) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < op_rows().size(); ++i) {
    SCOPED_TRACE(describe(op_rows()[i], i));
    std::set<std::int64_t> extents;
    for (const OperandSpec& operand : op_rows()[i].operands) extents.insert(operand.shape.begin(), operand.shape.end());
    for (const std::int64_t extent : extents) {
      OpRow row = op_rows()[i];
      for (OperandSpec& operand : row.operands) {
        for (int axis = 0; axis < operand.shape.rank(); ++axis) {
          if (operand.shape[axis] == extent) operand.shape[axis] = 0;
        }
      }
      try {
        run(row, operands_of(row, DType::f32));
        taken.insert(row.op);
      } catch (const Error&) {
      }
    }
  }
  for (const char* op :
       {"add", "conv2d", "dense", "batch_norm_bwd", "reduce_sum", "softmax", "transpose", "matmul", "concat", "gather"})
    EXPECT_TRUE(taken.contains(op)) << op;
}

// The same operands, which bf16 and f16 represent exactly, in f64: a 16-bit result must be the rounded value of this.
TEST(OpTable, HalfSizeStorageRoundsOnceWhatWiderArithmeticGives) {
  for (const auto& [storage, digits] : {std::pair{DType::bf16, 8}, std::pair{DType::f16, 11}}) {
    std::size_t rounded = 0;
    for (std::size_t i = 0; i < op_rows().size(); ++i) {
      const OpRow& row = op_rows()[i];
      if (row.f32_only) continue;
      SCOPED_TRACE(describe(row, i));
      const std::vector<Tensor> operands = operands_of(row, storage);
      std::vector<Tensor> wide_operands;
      for (const Tensor& t : operands) {
        Tensor wide(is_floating(t.dtype()) ? DType::f64 : t.dtype(), t.shape());
        for (std::int64_t e = 0; e < t.elements(); ++e) wide.set(e, t.at(e));
        wide_operands.push_back(wide);
      }
      const std::vector<Tensor> narrow = run(row, operands);
      const std::vector<Tensor> wide = run(row, wide_operands);
      for (std::size_t r = 0; r < narrow.size(); ++r) {
        rounded += narrow[r].dtype() == storage ? 1 : 0;
        for (std::int64_t e = 0; e < narrow[r].elements(); ++e) {
          const double size = std::max(std::abs(wide[r].at(e)), 1e-4);  // below this, f16 has fewer digits
          ASSERT_NEAR(narrow[r].at(e), wide[r].at(e), std::ldexp(1.01 * size, -digits))
              << name_of(storage) << " result " << r << " element " << e;
        }
      }
    }
    EXPECT_GT(rounded, op_rows().size() / 2);
  }
}

TEST(OpTable, GradientsAgreeWithFiniteDifferences) {
  for (std::size_t i = 0; i < op_rows().size(); ++i) {
    const OpRow& row = op_rows()[i];
    if (row.gradient != Gradient::checked) continue;
    SCOPED_TRACE(describe(row, i));
    expect_finite_differences_agree(row);
  }
}

TEST(OpTable, OpsWithoutGradientStopOrRefuse) {
  for (std::size_t i = 0; i < op_rows().size(); ++i) {
    const OpRow& row = op_rows()[i];
    if (row.gradient == Gradient::checked) continue;
    SCOPED_TRACE(describe(row, i));
    Harness harness = harness_of(row);
    if (row.gradient == Gradient::refused) {
      EXPECT_THROW(differentiate(harness.graph, harness.loss, harness.operands), Error);
      continue;
    }
    for (ValueId gradient : differentiate(harness.graph, harness.loss, harness.operands)) EXPECT_EQ(gradient, kNoValue);
  }
}

TEST(OpTable, CostsArePositiveAndCountOperandsAndResults) {
  for (std::size_t i = 0; i < op_rows().size(); ++i) {
    const OpRow& row = op_rows()[i];
    SCOPED_TRACE(describe(row, i));
    const Harness harness = harness_of(row);
    const Node& node = harness.graph.nodes[0];
    ASSERT_EQ(node.op, row.op);
    double bytes = 0;
    for (ValueId id : node.inputs) bytes += static_cast<double>(harness.graph.value(id).type.bytes());
    for (ValueId id : node.outputs) bytes += static_cast<double>(harness.graph.value(id).type.bytes());
    const Cost cost = cost_of(harness.graph, node);
    EXPECT_EQ(cost.bytes, bytes);
    EXPECT_GE(cost.flops, 0);
  }
}

}  // namespace
}  // namespace ridgeline::test
