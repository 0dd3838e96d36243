#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/image/augment/colour.h"
#include "ridgeline/image/augment/colour_jitter.h"
#include "ridgeline/image/augment/enhance.h"
#include "statistics.h"
#include "support.h"

namespace ridgeline::image {
namespace {

SampleRandom jitter_draws(std::uint64_t sample) { return SampleRandom(philox_key(4, "jitter"), 0, sample); }

TEST(ColourJitter, SingleNumbersBecomeTorchvisionsRanges) {
  const ColourJitterRule rule = colour_jitter_rule(0.4, 1.5, 0, 0.1);
  EXPECT_EQ(rule.brightness.low, 1 - 0.4);
  EXPECT_EQ(rule.brightness.high, 1.4);
  EXPECT_EQ(rule.contrast.low, 0);
  EXPECT_EQ(rule.contrast.high, 2.5);
  EXPECT_EQ(rule.saturation.high, 1);
  EXPECT_EQ(rule.hue.low, -0.1);
  EXPECT_THROW(colour_jitter_rule(-0.1, 0, 0, 0), Error);
  EXPECT_THROW(colour_jitter_rule(0, 0, 0, 0.6), Error);
  EXPECT_THROW(check_colour_jitter_rule({{1.2, 0.8}, {1, 1}, {1, 1}, {0, 0}}), Error);
}

TEST(ColourJitter, FactorsAreUniformAndEveryOrderEquallyLikely) {
  const ColourJitterRule rule = colour_jitter_rule(0.4, 0.3, 0.2, 0.1);
  const std::array<Interval, 4> ranges = {rule.brightness, rule.contrast, rule.saturation, rule.hue};
  std::array<std::vector<double>, 4> factors;
  std::map<std::array<ColourStep, 4>, std::int64_t> orders;
  constexpr int n = 24000;
  for (int i = 0; i < n; ++i) {
    SampleRandom random = jitter_draws(static_cast<std::uint64_t>(i));
    const ColourJitter jitter = draw_colour_jitter(rule, random);
    ++orders[jitter.order];
    for (std::size_t k = 0; k < 4; ++k) {
      factors[k].push_back((jitter.factor[k].value_or(-9) - ranges[k].low) / (ranges[k].high - ranges[k].low));
    }
  }
  ASSERT_EQ(orders.size(), 24u);
  std::vector<std::int64_t> counts;
  counts.reserve(orders.size());
  for (const auto& [order, count] : orders) counts.push_back(count);
  EXPECT_LT(test::chi_square(counts, std::vector<double>(24, n / 24.0)), 49.7);  // 23 degrees, 0.1 %
  for (auto& values : factors) {
    EXPECT_LT(test::kolmogorov_smirnov(values, [](double x) { return x; }), 1.95 / std::sqrt(double{n}));  // 0.1 %
  }
}

TEST(ColourJitter, DrawsTheOrderThenTheFactorsThatAreOn) {
  SampleRandom random = jitter_draws(3), replay = jitter_draws(3);
  const ColourJitter jitter = draw_colour_jitter(colour_jitter_rule(0, 0.5, 0, 0.2), random);
  for (int i = 3; i > 0; --i) replay.integer(0, i);
  EXPECT_FALSE(jitter.factor[0]);
  EXPECT_EQ(jitter.factor[1], replay.uniform(0.5, 1.5));
  EXPECT_FALSE(jitter.factor[2]);
  EXPECT_EQ(jitter.factor[3], replay.uniform(-0.2, 0.2));
  EXPECT_EQ(random.bits(), replay.bits());  // nothing else was drawn
}

TEST(ColourJitter, AppliesTheStepsInTheDrawnOrder) {
  const Image image = test::detailed_image(20, 30, 3);
  using enum ColourStep;
  const ColourJitter jitter{{hue, contrast, brightness, saturation}, {0.7, 1.4, std::nullopt, 0.25}};
  Image expected(20, 30), out(20, 30);
  adjust_hue(image, 0.25, expected.data());
  adjust_contrast(expected, 1.4, expected.data());
  adjust_brightness(expected, 0.7, expected.data());
  apply_colour_jitter(image, jitter, out.data());
  EXPECT_EQ(out, expected);
  const ColourJitter other{{brightness, contrast, hue, saturation}, {0.7, 1.4, std::nullopt, 0.25}};
  apply_colour_jitter(image, other, out.data());
  EXPECT_NE(out, expected);
  apply_colour_jitter(image, {{brightness, contrast, hue, saturation}, {}}, out.data());
  EXPECT_EQ(out, image);
}

}  // namespace
}  // namespace ridgeline::image
