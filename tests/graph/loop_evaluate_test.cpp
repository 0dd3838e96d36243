#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "ridgeline/core/random.h"
#include "ridgeline/graph/loop/evaluate.h"
#include "ridgeline/graph/loop/text.h"

namespace ridgeline::loop {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor run(const char* text, const Shape& shape, const std::vector<Tensor>& operands, DType result = DType::f32,
           Arithmetic arithmetic = Arithmetic::f32) {
  const Expression e = parse(text, static_cast<int>(operands.size()));
  std::vector<Tensor> results{Tensor(result, e.results[0].ending == Ending::sum ? Shape{} : shape)};
  evaluate(e, arithmetic, shape, operands, results);
  return results[0];
}

Tensor f32s(std::vector<float> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return Tensor::of<float>(values, Shape{n});
}

TEST(LoopEvaluate, RoundsEachPrimitiveToTheArithmetic) {
  // 1 + 2^-24 is 1 in f32: the product must not keep extra bits for the sum.
  const float a = 1.0f + 0x1p-12f;
  const Tensor x = f32s({a});
  EXPECT_EQ(run("x0 * x0 - 1", {1}, {x}).data<float>()[0], (a * a) - 1.0f);
  EXPECT_NE(run("x0 * x0 - 1", {1}, {x}).data<float>()[0], std::fma(a, a, -1.0f));
  EXPECT_EQ(run("x0 * 0.1", {1}, {Tensor::of<double>({3.0}, {1})}, DType::f64, Arithmetic::f64).data<double>()[0],
            3.0 * 0.1);
}

TEST(LoopEvaluate, LetsNanThroughMaximumAndMinimum) {
  const Tensor x = f32s({kNan, 1, kNan, 2, -1});
  const Tensor y = f32s({1, kNan, kNan, 1, 3});
  const Tensor high = run("max(x0, x1)", {5}, {x, y});
  const Tensor low = run("min(x0, x1)", {5}, {x, y});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::isnan(high.data<float>()[i]));
    EXPECT_TRUE(std::isnan(low.data<float>()[i]));
  }
  EXPECT_EQ(high.data<float>()[3], 2);
  EXPECT_EQ(low.data<float>()[4], -1);
  EXPECT_TRUE(std::isnan(run("max(x0, 0)", {5}, {x}).data<float>()[0]));
  EXPECT_EQ(run("select(0 < x0, 1, 2)", {5}, {x}).data<float>()[0], 2);
}

TEST(LoopEvaluate, BroadcastsAsNumpy) {
  const Tensor column = Tensor::of<float>({10, 20}, {2, 1});
  const Tensor row = Tensor::of<float>({1, 2, 3}, {3});
  const Tensor y = run("x0 + x1", {2, 3}, {column, row});
  const std::vector<float> expected{11, 12, 13, 21, 22, 23};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), y.data<float>()));
}

TEST(LoopEvaluate, ConvertsTowardsZeroAndSaturates) {
  const Tensor x = f32s({-1.7f, 1.7f, 300, kNan, kInf, -kInf});
  const Tensor u8 = run("x0", {6}, {x}, DType::u8);
  const std::uint8_t expected8[] = {0, 1, 255, 0, 255, 0};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(u8.data<std::uint8_t>()[i], expected8[i]) << i;
  const Tensor i32 = run("x0", {6}, {x}, DType::i32);
  const std::int32_t expected32[] = {
      -1, 1, 300, 0, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(i32.data<std::int32_t>()[i], expected32[i]) << i;
  EXPECT_EQ(run("x0", {6}, {x}, DType::i64).data<std::int64_t>()[4], std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(run("x0", {6}, {x}, DType::boolean).data<bool>()[3]);
  EXPECT_EQ(run("x0", {1}, {f32s({1.00390625f})}, DType::bf16).data<bfloat16>()[0], to_bfloat16(1.00390625f));
}

TEST(LoopEvaluate, DrawsByStepAndElement) {
  const PhiloxKey key = philox_key(7, "dropout");
  const std::string text = "uniform(x0, " + std::to_string(key.k0 | static_cast<std::uint64_t>(key.k1) << 32) + ")";
  // A step number beyond the exact integers of f32 is still exact.
  const std::int64_t step = (std::int64_t{1} << 40) + 3;
  const Tensor u = run(text.c_str(), {1000}, {Tensor::scalar<std::int64_t>(step)});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(u.data<float>()[i],
              uniform_float(philox_element(key, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(i))));
  }
}

TEST(LoopEvaluate, SumsInDouble) {
  std::vector<float> values(100000, 0.1f);
  values[0] = 1e8f;
  double expected = 0;
  for (float v : values) expected += static_cast<double>(v);
  EXPECT_EQ(run("sum(x0)", {100000}, {f32s(values)}).data<float>()[0], static_cast<float>(expected));
}

// Distance in units of the last place of f32 at the exact result.
double error_in_ulps(float got, double exact) {
  const float nearest = static_cast<float>(exact);
  const float above = std::nextafter(std::fabs(nearest), kInf);
  return std::fabs(static_cast<double>(got) - exact) /
         (static_cast<double>(above) - std::fabs(static_cast<double>(nearest)));
}

TEST(LoopEvaluate, ExponentialIsWithinAboutOneUnitInTheLastPlace) {
  double worst = 0;
  for (float x = -87.3f; x < 88.7f; x += 0.00037f)
    worst = std::max(worst, error_in_ulps(exp_f32(x), std::exp(static_cast<double>(x))));
  for (float x = -1; x < 1; x += 1.7e-6f)
    worst = std::max(worst, error_in_ulps(exp_f32(x), std::exp(static_cast<double>(x))));
  EXPECT_LT(worst, 1.05);
  EXPECT_EQ(exp_f32(0.0f), 1.0f);
  EXPECT_EQ(exp_f32(88.8f), kInf);
  EXPECT_EQ(exp_f32(kInf), kInf);
  EXPECT_LT(exp_f32(88.7f), kInf);
  EXPECT_EQ(exp_f32(-87.4f), 0.0f);
  EXPECT_EQ(exp_f32(-kInf), 0.0f);
  EXPECT_TRUE(std::isnan(exp_f32(kNan)));
}

TEST(LoopEvaluate, LogarithmIsWithinOneUnitInTheLastPlace) {
  double worst = 0;
  for (std::uint32_t bits = 0x00800000u; bits < 0x7f800000u; bits += 997) {
    const float x = std::bit_cast<float>(bits);
    if (x == 1.0f) continue;
    worst = std::max(worst, error_in_ulps(log_f32(x), std::log(static_cast<double>(x))));
  }
  EXPECT_LT(worst, 1.0);
  EXPECT_EQ(log_f32(1.0f), 0.0f);
  EXPECT_EQ(log_f32(0.0f), -kInf);
  EXPECT_EQ(log_f32(-0.0f), -kInf);
  EXPECT_EQ(log_f32(1e-40f), -kInf);  // subnormal numbers are treated as 0
  EXPECT_EQ(log_f32(kInf), kInf);
  EXPECT_TRUE(std::isnan(log_f32(-1.0f)));
  EXPECT_TRUE(std::isnan(log_f32(kNan)));
}

}  // namespace
}  // namespace ridgeline::loop
