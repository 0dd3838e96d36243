#include "ridgeline/device/cpu/loop/loop_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/families.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/graph/loop/builder.h"
#include "ridgeline/graph/loop/float_math.h"
#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/op/pointwise.h"
#include "tests/device/loop_support.h"

namespace ridgeline::device {
namespace {

// Each test runs under every instruction set of the machine that has loops of its own.
class LoopKernels : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    before_ = active_isa();
    force_isa_for_test(GetParam());
  }
  void TearDown() override { force_isa_for_test(before_); }

 private:
  Isa before_ = machine_isas().front();
};

INSTANTIATE_TEST_SUITE_P(Isa, LoopKernels, testing::ValuesIn(loop_isas()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

void expect_equal(const std::string& op, const std::vector<Tensor>& inputs, const Attributes& attributes) {
  const std::vector<Tensor> expected = run_reference_of(op, inputs, attributes);
  for (bool in_place : {false, true}) {
    const LoopRun run = run_kernel(op, inputs, attributes, in_place);
    ASSERT_EQ(run.refusal, "") << op;
    for (std::size_t r = 0; r < expected.size(); ++r) {
      ASSERT_EQ(first_difference(run.results[r], expected[r]), "")
          << op << " of " << inputs[0].shape().to_string() << " result " << r << (in_place ? " in place" : "");
    }
  }
}

struct OpCase {
  std::string op;
  std::vector<DType> operands;  // i64: the step; the last f32 of an update: lr, a scalar
  Attributes attributes;
};

std::vector<OpCase> op_cases() {
  using enum DType;
  std::vector<OpCase> cases;
  for (const char* op : {"add", "sub", "mul", "div", "maximum", "minimum", "relu_grad", "less", "less_equal", "equal",
                         "relu6_grad", "sigmoid_grad", "tanh_grad", "silu_grad", "gelu_grad"}) {
    cases.push_back({op, {f32, f32}, {}});
  }
  for (const char* op :
       {"neg", "abs", "exp", "log", "sqrt", "floor", "cos", "sin", "relu", "relu6", "sigmoid", "tanh", "silu", "gelu"})
    cases.push_back({op, {f32}, {}});
  cases.push_back({"gelu", {f32}, {{"approximate", std::string("tanh")}}});
  cases.push_back({"gelu_grad", {f32, f32}, {{"approximate", std::string("tanh")}}});
  cases.push_back({"less", {u8, u8}, {}});
  cases.push_back({"equal", {boolean, boolean}, {}});
  cases.push_back({"select", {boolean, f32, f32}, {}});
  cases.push_back({"cast", {u8}, {{"to", f32}}});
  cases.push_back({"cast", {boolean}, {{"to", f32}}});
  cases.push_back({"cast", {i32}, {{"to", f32}}});
  cases.push_back({"cast", {f32}, {{"to", boolean}}});
  cases.push_back({"cast", {i32}, {{"to", boolean}}});
  cases.push_back({"cast", {f32}, {{"to", f32}}});
  cases.push_back({"scale", {f32}, {{"factor", 0.1}}});
  cases.push_back({"dropout", {f32, i64}, {{"keep_prob", 0.65}, {"key", std::int64_t{0x123456789abcdef}}}});
  cases.push_back({"sgd", {f32, f32, f32}, {{"weight_decay", 1e-4}}});
  for (bool nesterov : {false, true}) {
    for (double decay : {0.0, 1e-4}) {
      cases.push_back(
          {"sgd_momentum", {f32, f32, f32, f32}, {{"momentum", 0.9}, {"nesterov", nesterov}, {"weight_decay", decay}}});
    }
  }
  cases.push_back({"sgd", {f32, f32, f32, boolean}, {{"conditional", true}}});
  for (bool decoupled : {false, true}) {
    cases.push_back(
        {"adam",
         {f32, f32, f32, f32, f32, f32, f32},
         {{"beta1", 0.9}, {"beta2", 0.99}, {"epsilon", 1e-8}, {"decoupled", decoupled}, {"weight_decay", 0.01}}});
  }
  cases.push_back({"rmsprop", {f32, f32, f32, f32}, {{"rho", 0.9}, {"epsilon", 1e-8}}});
  cases.push_back(
      {"rmsprop_momentum", {f32, f32, f32, f32, f32}, {{"rho", 0.9}, {"epsilon", 1e-8}, {"momentum", 0.8}}});
  cases.push_back({"loop", {f32, u8, i32}, {{"expression", std::string("x0 * x1 + x2; sum(x2)")}}});
  // The same with 16-bit storage.
  const std::vector<OpCase> wide = cases;
  for (DType half : {bf16, f16}) {
    for (OpCase c : wide) {
      if (std::find(c.operands.begin(), c.operands.end(), f32) == c.operands.end()) continue;
      std::replace(c.operands.begin(), c.operands.end(), f32, half);
      cases.push_back(c);
    }
    cases.push_back({"cast", {f32}, {{"to", half}}});
    cases.push_back({"cast", {half}, {{"to", half}}});
    cases.push_back({"cast", {i32}, {{"to", half}}});
    cases.push_back({"cast", {u8}, {{"to", half}}});
  }
  return cases;
}

std::vector<Tensor> operands_of(const OpCase& c, const Shape& shape, unsigned seed) {
  std::vector<Tensor> inputs;
  const int gradient = op_def(c.op).gradient_operand;  // an update has scalars after it
  for (std::size_t i = 0; i < c.operands.size(); ++i) {
    if (c.operands[i] == DType::i64)
      inputs.push_back(Tensor::scalar<std::int64_t>((std::int64_t{1} << 33) + seed));
    else if (gradient >= 0 && static_cast<int>(i) > gradient)
      inputs.push_back(c.operands[i] == DType::boolean ? Tensor::scalar(seed % 2 == 0) : Tensor::scalar<float>(0.045f));
    else
      inputs.push_back(mixed_tensor(c.operands[i], shape, seed * 31 + static_cast<unsigned>(i)));
  }
  return inputs;
}

TEST_P(LoopKernels, EveryOpGivesTheReferencesBitsForAllSmallSizes) {
  for (const OpCase& c : op_cases()) {
    for (std::int64_t n = 0; n < 3000; n += n < 140 ? 1 : 211) {
      expect_equal(c.op, operands_of(c, Shape{n}, static_cast<unsigned>(n)), c.attributes);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(LoopKernels, EveryOpGivesTheReferencesBitsOnLargeTensors) {
  for (const OpCase& c : op_cases()) {
    expect_equal(c.op, operands_of(c, Shape{5, 41, 401}, 3), c.attributes);
    if (HasFatalFailure()) return;
  }
}

TEST_P(LoopKernels, EveryOpHasACaseHere) {
  std::set<std::string> tested = {"constant"};
  for (const OpCase& c : op_cases()) tested.insert(c.op);
  for (const KernelEntry& entry : loop_kernels()) {
    if (entry.factory != make_loop_kernel) continue;
    EXPECT_EQ(tested.erase(std::string(entry.op)), 1u) << entry.op;
  }
  EXPECT_TRUE(tested.empty()) << *tested.begin();
  EXPECT_EQ(run_kernel("constant", {}, {{"value", 0.1}}).results[0].data<float>()[0], 0.1f);
  const LoopRun half = run_kernel("constant", {}, {{"value", 0.1}, {"dtype", DType::bf16}});
  EXPECT_EQ(half.results[0].data<bfloat16>()[0], to_bfloat16(0.1f));
}

TEST_P(LoopKernels, ScalarsVectorsAndOtherBroadcastsAreRead) {
  const Tensor x = mixed_tensor(DType::f32, {7, 5, 130}, 1);
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{130}, Shape{5, 130}, Shape{1, 1, 130}, Shape{7, 1, 1},
                             Shape{5, 1}, Shape{7, 1, 130}, Shape{7, 5, 1}}) {
    const Tensor y = mixed_tensor(DType::f32, shape, 2);
    for (const char* op : {"add", "div", "maximum", "less"}) {
      expect_equal(op, {x, y}, {});
      expect_equal(op, {y, x}, {});
    }
    expect_equal("select", {mixed_tensor(DType::boolean, shape, 3), x, y}, {});
  }
  expect_equal("mul", {mixed_tensor(DType::f32, {7, 1}, 4), mixed_tensor(DType::f32, {1, 9}, 5)}, {});
  const Attributes picture{{"expression", std::string("x0 * x1 + x2")}};
  expect_equal("loop",
               {mixed_tensor(DType::u8, {4, 300, 3}, 6), mixed_tensor(DType::f32, {3}, 7),
                mixed_tensor(DType::u8, {4, 1, 1}, 8)},
               picture);
}

TEST_P(LoopKernels, OneTensorMayBeTwoOperands) {
  const Tensor x = mixed_tensor(DType::f32, {1000}, 1);
  expect_equal("mul", {x, x}, {});
}

// All results agree with the reference; sums up to one rounding, since the kernel adds in tree order.
void expect_loop(const loop::Expression& e, const std::vector<Tensor>& inputs) {
  const Attributes attributes{{"expression", loop::to_string(e)}};
  const std::vector<Tensor> expected = run_reference_of("loop", inputs, attributes);
  for (bool in_place : {false, true}) {
    const LoopRun run = run_kernel("loop", inputs, attributes, in_place);
    ASSERT_EQ(run.refusal, "");
    for (std::size_t r = 0; r < expected.size(); ++r) {
      if (e.results[r].ending == loop::Ending::store) {
        ASSERT_EQ(first_difference(run.results[r], expected[r]), "")
            << loop::to_string(e) << " result " << r << " in place " << in_place;
        continue;
      }
      const float a = run.results[r].data<float>()[0];
      const float b = expected[r].data<float>()[0];
      if (std::isnan(b))
        ASSERT_TRUE(std::isnan(a)) << loop::to_string(e);
      else if (std::isinf(b))
        ASSERT_EQ(a, b);
      // The exact sum may be near 0, so the bound is one f32 rounding of a sum of this many terms of this size.
      else
        ASSERT_NEAR(a, b, std::fabs(b) * 1.3e-7 + 1e-9 * static_cast<double>(inputs[0].elements()))
            << loop::to_string(e);
    }
  }
}

TEST_P(LoopKernels, RandomExpressionsGiveTheReferencesBits) {
  std::mt19937 random(11);
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int round = 0; round < 300; ++round) {
    loop::Builder b;
    std::vector<loop::Expr> terms;
    for (int i = 0; i < 5; ++i) terms.push_back(b.operand(i));
    const loop::Expr step = b.operand(5);
    const auto any = [&] { return terms[below(terms.size())]; };
    const std::size_t count = 1 + below(30);
    for (std::size_t i = 0; i < count; ++i) {
      using loop::Kind;
      const auto offset = [](Kind first, std::size_t by) {
        return static_cast<Kind>(static_cast<std::size_t>(first) + by);
      };
      switch (below(6)) {
        case 0: terms.push_back(loop::apply(offset(Kind::neg, below(8)), any())); break;
        case 1: terms.push_back(loop::apply(offset(Kind::add, below(9)), any(), any())); break;
        case 2: terms.push_back(select(any(), any(), any())); break;
        case 3: terms.push_back(any() * any() + any()); break;
        case 4: terms.push_back(below(2) ? any() - any() * any() : any() * any() - any()); break;
        default:
          terms.push_back(below(2) ? b.constant(static_cast<double>(random()) * 1e-9 - 2) : uniform(step, random()));
      }
    }
    b.store(terms.back());
    if (below(2)) b.store(any());
    if (below(8) == 0) b.store(terms[below(2)]);
    const bool with_sum = below(2) == 1;
    if (with_sum) b.sum(terms.back());
    const loop::Expression e = b.finish(6);
    const Shape shape{1 + static_cast<std::int64_t>(below(5)), 1 + static_cast<std::int64_t>(below(1500))};
    const unsigned seed = random();
    std::vector<Tensor> inputs;
    for (unsigned i = 0; i < 3; ++i) inputs.push_back(mixed_tensor(DType::f32, shape, seed + i, !with_sum));
    inputs.push_back(mixed_tensor(DType::f32, {}, seed + 3, false));
    inputs.push_back(mixed_tensor(DType::f32, {shape[1]}, seed + 4, !with_sum));
    // An operand that only random numbers use is the step; an unused operand may be any f32 value.
    const bool stepped = only_a_step(e, 5);
    inputs.push_back(stepped ? Tensor::scalar<std::int64_t>(77) : Tensor::scalar<float>(1));
    if (with_sum) {
      // exp of exp exceeds the range in which a bound on sums makes sense.
      const std::string text = loop::to_string(e);
      if (text.find("exp") != std::string::npos || text.find('/') != std::string::npos) continue;
      expect_loop(e, inputs);
    } else {
      expect_loop(e, inputs);
    }
    if (HasFatalFailure()) return;
  }
}

TEST_P(LoopKernels, ExponentialAndLogarithmFollowTheScalarRuleBitByBit) {
  constexpr std::int64_t n = 1 << 16;
  Tensor x(DType::f32, {n});
  for (std::uint32_t part = 0; part < 16; ++part) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint32_t bits = static_cast<std::uint32_t>(i) * 65521u + part * 268435399u;
      x.data<float>()[i] = std::bit_cast<float>(bits);
      // Subnormal arguments are flushed before any rule is applied.
      if (std::fpclassify(x.data<float>()[i]) == FP_SUBNORMAL) x.data<float>()[i] = static_cast<float>(i) * 1e-3f;
    }
    for (const char* op : {"exp", "log"}) {
      expect_equal(op, {x}, {});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(LoopKernels, SumsHaveTheSameBitsForAnyTeamAndInstructionSet) {
  const Tensor x = mixed_tensor(DType::f32, {300007}, 9, false);
  const Tensor y = mixed_tensor(DType::f32, {300007}, 10, false);
  const Attributes attributes{{"expression", std::string("sum(x0 * x1 + x0)")}};
  std::set<float> sums;
  for (int threads : {1, 2, 3, 7}) {
    const ComputeScope team(threads);
    sums.insert(run_kernel("loop", {x, y}, attributes).results[0].data<float>()[0]);
  }
  force_isa_for_test(machine_isas().front());
  sums.insert(run_kernel("loop", {x, y}, attributes).results[0].data<float>()[0]);
  EXPECT_EQ(sums.size(), 1u);
  double exact = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    exact += static_cast<double>(x.data<float>()[i] * y.data<float>()[i] + x.data<float>()[i]);
  }
  EXPECT_EQ(*sums.begin(), static_cast<float>(exact));
}

TEST(LoopKernelsRefuse, WhatTheyCannotComputeInF32) {
  const Tensor d = mixed_tensor(DType::f64, {4}, 1);
  EXPECT_EQ(run_kernel("add", {d, d}, {}).refusal, "f64 operand: this kernel takes f32, bf16, f16");
  const Tensor i = mixed_tensor(DType::i32, {4}, 1);
  EXPECT_NE(run_kernel("less", {i, i}, {}).refusal, "");
  EXPECT_NE(run_kernel("cast", {mixed_tensor(DType::f32, {4}, 1)}, {{"to", DType::i32}}).refusal, "");
  EXPECT_NE(run_kernel("constant", {}, {{"value", 1.0}, {"dtype", DType::i64}}).refusal, "");
}

TEST(LoopKernelsUpdates, WriteOverWhatTheyReplace) {
  const OpDef& def = op_def("sgd_momentum");
  Node node;
  node.op = node.name = "sgd_momentum";
  node.attributes = complete_attributes(def, {{"momentum", 0.9}});
  const KernelOperand w{{DType::f32, {100, 3}}, {}, false};
  const KernelOperand lr{{DType::f32, {}}, {}, false};
  const KernelChoice choice = make_loop_kernel({def, node, {w, w, w, lr}, {w, w}});
  EXPECT_EQ(std::get<std::unique_ptr<Kernel>>(choice)->in_place, (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace ridgeline::device
