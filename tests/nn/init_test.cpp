#include "ridgeline/nn/init.h"

#include <gtest/gtest.h>
#include <cmath>
#include <cstring>

#include "ridgeline/core/threads.h"
#include "ridgeline/nn/models.h"

namespace ridgeline::nn {
namespace {

struct Moments {
  double mean = 0, variance = 0, low = 0, high = 0;
};

Moments moments_of(const Tensor& tensor) {
  Moments m;
  for (float v : tensor.span<float>()) {
    m.mean += v;
    m.variance += static_cast<double>(v) * v;
    m.low = std::min(m.low, static_cast<double>(v));
    m.high = std::max(m.high, static_cast<double>(v));
  }
  const auto n = static_cast<double>(tensor.elements());
  m.mean /= n;
  m.variance = m.variance / n - m.mean * m.mean;
  return m;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

TEST(InitTest, FansCountTheWeightsOfOneUnit) {
  const Fans conv = fans_of({96, 11, 11, 3});
  EXPECT_EQ(conv.in, 363);
  EXPECT_EQ(conv.out, 11 * 11 * 96);
  const Fans dense = fans_of({1000, 4096});
  EXPECT_EQ(dense.in, 4096);
  EXPECT_EQ(dense.out, 1000);
}

TEST(InitTest, UniformRulesHaveTheirBoundsAndVariances) {
  const Shape shape = {192, 5, 5, 96};
  const Fans fans = fans_of(shape);
  const std::pair<Init, double> rules[] = {{he_uniform(fans), std::sqrt(6.0 / 2400)},
                                           {glorot_uniform(fans), std::sqrt(6.0 / (2400 + 4800))},
                                           {scaled_uniform(fans), std::sqrt(1.0 / 2400)}};
  for (const auto& [rule, bound] : rules) {
    EXPECT_DOUBLE_EQ(rule.amount, bound);
    const Moments m = moments_of(initialize({"conv2d_1/kernel", shape, rule}, 1));
    EXPECT_LE(m.high, bound * (1 + 1e-6));
    EXPECT_GE(m.low, -bound * (1 + 1e-6));
    EXPECT_GT(m.high, bound * 0.9999);
    EXPECT_LT(m.low, -bound * 0.9999);
    EXPECT_NEAR(m.mean, 0, bound * 0.004);  // five standard errors of 460,800 draws
    EXPECT_NEAR(m.variance / (bound * bound / 3), 1, 0.01);
  }
}

TEST(InitTest, NormalDrawsHaveTheirDeviationAndTails) {
  const Tensor tensor = initialize({"fc", {1000, 301}, normal(0.01)}, 3);
  const Moments m = moments_of(tensor);
  EXPECT_NEAR(m.mean, 0, 1e-4);
  EXPECT_NEAR(std::sqrt(m.variance), 0.01, 1e-4);
  std::int64_t inside = 0;
  for (float v : tensor.span<float>()) inside += std::fabs(v) < 0.01f;
  EXPECT_NEAR(static_cast<double>(inside) / static_cast<double>(tensor.elements()), 0.6827, 0.005);
  EXPECT_GT(m.high, 0.04);
}

TEST(InitTest, ValuesDependOnSeedAndNameOnly) {
  const ParameterSpec spec{"dense/kernel", {67, 129}, scaled_uniform({129, 67})};
  const Tensor first = initialize(spec, 7);
  for (const int threads : {1, 2}) {
    const ComputeScope team(threads);
    EXPECT_TRUE(same_bits(first, initialize(spec, 7)));
  }
  ParameterSpec other = spec;
  other.name = "dense_1/kernel";
  EXPECT_FALSE(same_bits(first, initialize(other, 7)));
  EXPECT_FALSE(same_bits(first, initialize(spec, 8)));
}

TEST(InitTest, ConstantsFillEveryElement) {
  const Tensor tensor = initialize({"bn.weight", {17}, ones()}, 1);
  for (float v : tensor.span<float>()) EXPECT_EQ(v, 1.0f);
}

// weight_decay * sum of squares / 2 over all 61,266,088 numbers. In the recipe's published log, total_loss - loss is
// 1.032 after 700 steps, which only he_uniform explains.
TEST(InitTest, TheRulesOfTheRecipeGiveItsPenalty) {
  const std::pair<const char*, double> published[] = {
      {"he_uniform", 1.0376}, {"xavier", 0.616}, {"he_uniform_custom", 0.173}};
  for (const auto& [rule, penalty] : published) {
    double squares = 0;
    for (const ParameterSpec& spec : parameters_of(model_named("alexnet"), {.init = rule}, 224)) {
      const Tensor tensor = initialize(spec, 5);
      double part = 0;
      for (float v : tensor.span<float>()) part += static_cast<double>(v) * v;
      squares += part;
    }
    EXPECT_NEAR(1e-4 * squares / 2 / penalty, 1, 0.01) << rule;
  }
}

}  // namespace
}  // namespace ridgeline::nn
