// Activations compared with functions of the C library, in f64 and f32, up to large positive and negative arguments.
#include "ridgeline/graph/op/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tests/support/error_of.h"

namespace ridgeline {
namespace {

using Function = double (*)(double);

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double normal(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double gelu(double x) { return x * normal(x); }
double gelu_slope(double x) { return normal(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
double inner(double x) { return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x); }
double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(inner(x))); }
double silu(double x) { return x * sigmoid(x); }
double silu_slope(double x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }
double relu6(double x) { return std::fmin(std::fmax(x, 0), 6); }

Tensor run(const char* op, const Tensor& x, const Attributes& attributes) {
  const OpDef& def = op_def(op);
  std::vector<Tensor> inputs = {x};
  if (def.operands.size() == 2) {
    Tensor dy(x.dtype(), x.shape());
    for (std::int64_t i = 0; i < dy.elements(); ++i) dy.set(i, 1);
    inputs.push_back(dy);
  }
  return run_reference(def, inputs, complete_attributes(def, attributes), op)[0];
}

TEST(Activations, AgreeWithTheCLibrary) {
  const Attributes by_tanh = {{"approximate", std::string("tanh")}};
  const std::tuple<const char*, Attributes, Function> cases[] = {
      {"relu6", {}, relu6},         {"sigmoid", {}, sigmoid},      {"tanh", {}, std::tanh},
      {"silu", {}, silu},           {"silu_grad", {}, silu_slope}, {"gelu", {}, gelu},
      {"gelu", by_tanh, gelu_tanh}, {"gelu_grad", {}, gelu_slope}};
  for (const auto& [op, attributes, function] : cases) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      Tensor x(dtype, {4001});
      for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, static_cast<double>(i - 2000) / 100);
      const Tensor y = run(op, x, attributes);
      for (std::int64_t i = 0; i < x.elements(); ++i) {
        const double expected = function(x.at(i));
        const double share = dtype == DType::f64 ? 1e-12 : 2e-6;
        const double least = dtype == DType::f64 ? 1e-14 : 1e-7;
        EXPECT_NEAR(y.at(i), expected, share * std::fabs(expected) + least) << op << " at " << x.at(i);
      }
    }
  }
}

TEST(Activations, EndsAreWhereTheyBelong) {
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor x(DType::f32, {4});
  x.set(0, -infinity), x.set(1, infinity), x.set(2, -200), x.set(3, 200);
  const Tensor s = run("sigmoid", x, {}), t = run("tanh", x, {}), six = run("relu6", x, {});
  const double sigmoids[] = {0, 1, 0, 1}, tanhs[] = {-1, 1, -1, 1}, sixes[] = {0, 6, 0, 6};
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(s.at(i), sigmoids[i], 1e-30) << i;
    EXPECT_EQ(t.at(i), tanhs[i]) << i;
    EXPECT_EQ(six.at(i), sixes[i]) << i;
  }
  const Tensor g = run("gelu", x, {}), slope = run("silu_grad", x, {});
  EXPECT_EQ(g.at(2), 0);
  EXPECT_EQ(g.at(3), 200);
  EXPECT_EQ(slope.at(3), 1);
  EXPECT_NEAR(slope.at(2), 0, 1e-30);
}

TEST(Activations, WrongOperandsAreNamed) {
  const OpDef& def = op_def("gelu");
  const ValueType x{DType::f32, {2}}, whole{DType::i32, {2}};
  const auto said = [&](const OpDef& of, std::vector<ValueType> types, const Attributes& attributes) {
    return error_of([&] { infer_types(of, types, complete_attributes(of, attributes), "a"); });
  };
  EXPECT_NE(
      said(def, {x}, {{"approximate", std::string("erf")}}).find("unknown approximate 'erf' (allowed: none, tanh)"),
      std::string::npos);
  EXPECT_NE(said(def, {whole}, {}).find("x is i32[2]"), std::string::npos);
  EXPECT_NE(said(op_def("silu_grad"), {x, {DType::f32, {3}}}, {}).find("one type and shape is meant"),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline
