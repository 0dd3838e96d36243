// Updates with a specialised function: the optimizers' expressions match it, and the bits are those of the reference.
#include "ridgeline/device/cpu/loop/straight.h"

#include <gtest/gtest.h>

#include "loop_support.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/loop/text.h"

namespace ridgeline::device {
namespace {

// Over w, m, a gradient and scalars; `copies` of the first result in bf16.
LoopProgram update_program(loop::Expression expression, int copies) {
  const Shape shape{1000};
  expression.operands = std::max(expression.operands, 4);
  std::vector<ValueType> inputs(3, {DType::f32, shape}), outputs(expression.results.size(), {DType::f32, shape});
  inputs.resize(static_cast<std::size_t>(expression.operands), {DType::f32, Shape{}});
  for (int i = 0; i < copies; ++i) {
    expression.results.push_back(expression.results[0]);
    expression.results.back().type = DType::bf16;
    outputs.push_back({DType::bf16, shape});
  }
  return compile_loop(loop::canonical(expression), shape, inputs, outputs);
}

Attributes momentum(bool nesterov, double decay) {
  return complete_attributes(op_def("sgd_momentum"),
                             {{"momentum", 0.9}, {"nesterov", nesterov}, {"weight_decay", decay}});
}

TEST(LoopStraight, MomentumWithAndWithoutDecayOrCopiesHasAForm) {
  const auto has_form = [](bool nesterov, double decay, int copies) {
    return straight_code(update_program(op_def("sgd_momentum").expression(momentum(nesterov, decay)), copies))
        .has_value();
  };
  for (const int copies : {0, 1, 2}) {
    EXPECT_TRUE(has_form(false, 0, copies)) << copies;
    EXPECT_TRUE(has_form(false, 0.01, copies)) << copies;
    EXPECT_TRUE(has_form(true, 0.01, copies)) << copies;
  }
  EXPECT_FALSE(has_form(false, 0, 3)) << "more copies than it writes";
}

TEST(LoopStraight, OtherOperandsScalarsOrResultsAreNoForm) {
  for (const char* text : {
           "t0 = x3 * x1 + x2; x0 - x4 * t0; t0",  // unchanged
           "t0 = x3 * x2 + x1; x0 - x4 * t0; t0",  // the gradient instead of the momentum
           "t0 = x3 * x1 + x2; x1 - x4 * t0; t0",  // the momentum instead of the weights
           "t0 = x3 * x1 + x2; t0; x0 - x4 * t0",  // the results exchanged
           "t0 = x3 * x1 + x2; x0 + x4 * t0; t0",
           "t0 = x3 * x1 - x2; x0 - x4 * t0; t0",
       }) {
    const bool first = std::string(text).starts_with("t0 = x3 * x1 + x2; x0 - x4");
    EXPECT_EQ(straight_code(update_program(loop::parse(text), 0)).has_value(), first) << text;
  }
  // Nesterov's expression uses one factor in two places.
  const std::string nesterov = "t0 = x5 * x0 + x2; t1 = x4 * x1 + t0; x0 - x3 * (x4 * t1 + t0); t1";
  EXPECT_TRUE(straight_code(update_program(loop::parse(nesterov), 1)));
  std::string other = nesterov;
  other.replace(other.find("(x4"), 3, "(x6");
  EXPECT_FALSE(straight_code(update_program(loop::parse(other), 1)));
}

void expect_momentum(const std::vector<Tensor>& inputs) {
  for (const bool nesterov : {false, true}) {
    for (const double decay : {0.0, 0.01}) {
      const std::vector<Tensor> expected = run_reference_of("sgd_momentum", inputs, momentum(nesterov, decay));
      for (const bool in_place : {false, true}) {
        const LoopRun run = run_kernel("sgd_momentum", inputs, momentum(nesterov, decay), in_place);
        ASSERT_EQ(run.refusal, "");
        for (std::size_t i = 0; i < expected.size(); ++i)
          EXPECT_EQ(first_difference(run.results[i], expected[i]), "") << nesterov << ", " << decay << ", " << in_place;
      }
    }
  }
}

// Odd sizes: the last elements are computed instruction by instruction. Under every instruction set of the machine.
TEST(LoopStraight, TheBitsAreTheReferencesInPlaceOrNot) {
  const Shape shape{3, 1237};
  const std::vector<Tensor> inputs = {mixed_tensor(DType::f32, shape, 1), mixed_tensor(DType::f32, shape, 2),
                                      mixed_tensor(DType::f32, shape, 3), Tensor::scalar(0.05f)};
  const Isa before = active_isa();
  for (const Isa isa : machine_isas()) {
    force_isa_for_test(isa);
    expect_momentum(inputs);
  }
  force_isa_for_test(before);
}

}  // namespace
}  // namespace ridgeline::device
