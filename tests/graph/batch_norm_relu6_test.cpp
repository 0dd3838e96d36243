// Batch norm with relu6 and the gradient through its gate: the bits of separate ops, in every type, also at the bends
// and for NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ridgeline/core/random.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/op/evaluate.h"
#include "tests/support/error_of.h"

namespace ridgeline {
namespace {

constexpr std::int64_t kNormRows = 50, kNormChannels = 7;
constexpr DType kNormTypes[] = {DType::f64, DType::f32, DType::bf16, DType::f16};

std::vector<Tensor> run_op(const char* op, const std::vector<Tensor>& inputs, const Attributes& attributes) {
  return run_reference(op_def(op), inputs, complete_attributes(op_def(op), attributes), op);
}

Tensor drawn(DType type, const Shape& shape, const char* name, double low, double high) {
  Tensor t(type, shape);
  SampleRandom random(philox_key(61, name), 0, 0);
  for (std::int64_t i = 0; i < t.elements(); ++i) t.set(i, random.uniform(low, high));
  return t;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

// A batch norm with many results above 6.
struct Normed {
  Tensor x, gamma, beta, mean, var, addend;
  explicit Normed(DType type)
      : x(drawn(type, {kNormRows, kNormChannels}, "x", -2, 2)),
        addend(drawn(type, {kNormRows, kNormChannels}, "addend", -3, 3)) {
    const DType of_channels = type == DType::f64 ? DType::f64 : DType::f32;
    const Shape c{kNormChannels};
    gamma = drawn(of_channels, c, "gamma", 3, 8);
    beta = drawn(of_channels, c, "beta", -1, 4);
    mean = drawn(of_channels, c, "mean", -1, 1);
    var = drawn(of_channels, c, "var", 0.5, 2);
  }
  std::vector<Tensor> operands(bool with_addend) const {
    std::vector<Tensor> all{x, gamma, beta, mean, var};
    if (with_addend) all.push_back(addend);
    return all;
  }
};

TEST(BatchNormRelu6, GivesTheBitsOfTheTwoOps) {
  for (const DType type : kNormTypes) {
    for (const bool addend : {false, true}) {
      for (const char* op : {"batch_norm_train", "batch_norm_eval"}) {
        const std::vector<Tensor> operands = Normed(type).operands(addend);
        const Tensor merged = run_op(op, operands, {{"activation", std::string("relu6")}})[0];
        const Tensor apart = run_op("relu6", {run_op(op, operands, {})[0]}, {})[0];
        EXPECT_TRUE(same_bits(merged, apart)) << op << " of " << name_of(type);
        std::int64_t at_the_ceiling = 0;
        for (std::int64_t i = 0; i < merged.elements(); ++i) at_the_ceiling += merged.at(i) == 6;
        EXPECT_GT(at_the_ceiling, 20);
      }
    }
  }
}

TEST(BatchNormRelu6, TheGateOfYGivesTheBitsOfTheTwoOpsAtTheBendsToo) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const DType type : kNormTypes) {
    const Normed n(type);
    Tensor y = drawn(type, n.x.shape(), "y", -1, 8);
    const double ends[] = {0, -0.0, 6, nan, infinity, -infinity, 5.99999, 6.00001};
    for (std::size_t i = 0; i < std::size(ends); ++i) y.set(static_cast<std::int64_t>(5 * i), ends[i]);
    const Tensor gated = run_op("relu6_grad", {y, n.addend}, {})[0];
    const auto apart = run_op("batch_norm_bwd", {n.x, gated, n.gamma, n.mean, n.var}, {});
    const auto merged = run_op("batch_norm_bwd", {n.x, n.addend, n.gamma, n.mean, n.var, y},
                               {{"gate", std::string("of_y")}, {"ceiling", 6.0}, {"passed", true}});
    for (std::size_t r = 0; r < 3; ++r) EXPECT_TRUE(same_bits(merged[r], apart[r])) << name_of(type) << " " << r;
    EXPECT_TRUE(same_bits(merged[3], gated)) << name_of(type);
    EXPECT_EQ(merged[3].at(10), 0) << "closed at 6";
    EXPECT_EQ(merged[3].at(15), n.addend.at(15)) << "open at NaN, as relu6_grad is";
  }
}

// In bf16 many values below 6 are stored as 6: the gate is closed there, as for a relu6 that reads the stored values.
TEST(BatchNormRelu6, TheGateOfXIsThatOfTheStoredResult) {
  for (const DType type : kNormTypes) {
    Normed n(type);
    n.x = drawn(type, {4000, kNormChannels}, "x", -2, 2);
    const Tensor dy = drawn(type, n.x.shape(), "dy", 1, 2);
    const std::vector<Tensor> forward =
        run_op("batch_norm_train", n.operands(false), {{"activation", std::string("relu6")}});
    const std::vector<Tensor> statistics{n.x, dy, n.gamma, forward[1], forward[2]};
    const auto with = [&](const Tensor& last, const char* gate) {
      std::vector<Tensor> all = statistics;
      all.push_back(last);
      return run_op("batch_norm_bwd", all, {{"gate", std::string(gate)}, {"ceiling", 6.0}, {"passed", true}});
    };
    const auto of_x = with(n.beta, "of_x"), of_y = with(forward[0], "of_y");
    for (std::size_t r = 0; r < 4; ++r) EXPECT_TRUE(same_bits(of_x[r], of_y[r])) << name_of(type) << " " << r;
  }
}

TEST(BatchNormRelu6, WrongCeilingsAreNamed) {
  const auto said = [](const Attributes& attributes, std::size_t operands) {
    const ValueType image{DType::f32, {5, 3}}, channels{DType::f32, {3}};
    std::vector<ValueType> types{image, image, channels, channels, channels};
    if (operands == 6) types.push_back(image);
    const OpDef& def = op_def("batch_norm_bwd");
    return error_of([&] { infer_types(def, types, complete_attributes(def, attributes), "g"); });
  };
  EXPECT_EQ(said({{"gate", std::string("of_y")}, {"ceiling", 6.0}}, 6), "");
  EXPECT_EQ(said({{"gate", std::string("of_y")}, {"ceiling", -1.0}}, 6), "[batch_norm_bwd] ceiling=-1.0 is below 0");
  EXPECT_EQ(said({{"ceiling", 6.0}}, 5), "[batch_norm_bwd] a ceiling without a gate");
}

}  // namespace
}  // namespace ridgeline
