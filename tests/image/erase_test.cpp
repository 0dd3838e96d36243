#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/image/augment/erase.h"
#include "statistics.h"
#include "support.h"

namespace ridgeline::image {
namespace {

SampleRandom erase_draws(std::uint64_t sample) { return SampleRandom(philox_key(6, "erase"), 0, sample); }

TEST(Erase, DrawsAreaAndLogRatioThenRowAndColumn) {
  SampleRandom random = erase_draws(7), replay = erase_draws(7);
  const Box box = draw_erasing_box({400, 300}, {}, random).value_or(Box{});
  const double target = 120000 * replay.uniform(0.02, 0.33);
  const double ratio = std::exp(replay.uniform(std::log(0.3), std::log(3.3)));
  ASSERT_EQ(box.height, std::lround(std::sqrt(target * ratio)));
  ASSERT_EQ(box.width, std::lround(std::sqrt(target / ratio)));
  EXPECT_EQ(box.top, replay.integer(0, 400 - box.height));
  EXPECT_EQ(box.left, replay.integer(0, 300 - box.width));
}

TEST(Erase, AreaAndRatioFollowTheirRules) {
  ErasingRule rule;
  rule.scale_high = 0.1;  // so that almost every first attempt fits and the distribution is not distorted
  rule.scale_low = 0.05;
  std::vector<double> share, ratio;
  std::vector<std::int64_t> rows(4), columns(4);
  constexpr int n = 20000;
  for (int i = 0; i < n; ++i) {
    SampleRandom random = erase_draws(static_cast<std::uint64_t>(i));
    const Box box = draw_erasing_box({1000, 1000}, rule, random).value_or(Box{});
    share.push_back((box.height * box.width / 1e6 - 0.05) / 0.05);
    ratio.push_back(std::log(static_cast<double>(box.height) / box.width / 0.3) / std::log(3.3 / 0.3));
    ++rows[static_cast<std::size_t>(4 * box.top / (1001 - box.height))];
    ++columns[static_cast<std::size_t>(4 * box.left / (1001 - box.width))];
  }
  const auto uniform = [](double x) { return std::clamp(x, 0.0, 1.0); };
  EXPECT_LT(test::kolmogorov_smirnov(share, uniform), 1.95 / std::sqrt(double{n}) + 0.01);  // whole pixels
  EXPECT_LT(test::kolmogorov_smirnov(ratio, uniform), 1.95 / std::sqrt(double{n}) + 0.01);
  EXPECT_LT(test::chi_square(rows, std::vector<double>(4, n / 4.0)), 16.3 + 4);  // 3 degrees, 0.1 %; whole pixels
  EXPECT_LT(test::chi_square(columns, std::vector<double>(4, n / 4.0)), 16.3 + 4);
}

TEST(Erase, WhatNeverFitsErasesNothing) {
  ErasingRule rule;
  rule.scale_low = rule.scale_high = 1;
  SampleRandom random = erase_draws(1);
  EXPECT_FALSE(draw_erasing_box({50, 50}, rule, random));
}

TEST(Erase, CutoutIsASquareCutOffAtTheBorders) {
  std::vector<std::int64_t> row_of_centre(40);
  int whole = 0;
  constexpr int n = 40000;
  for (int i = 0; i < n; ++i) {
    SampleRandom random = erase_draws(static_cast<std::uint64_t>(i)), replay = random;
    const Box box = draw_cutout_box({40, 50}, 16, random);
    const int row = static_cast<int>(replay.integer(0, 39)), column = static_cast<int>(replay.integer(0, 49));
    ++row_of_centre[static_cast<std::size_t>(row)];
    ASSERT_EQ(box.top, std::max(0, row - 8));
    ASSERT_EQ(box.top + box.height, std::min(40, row + 8));
    ASSERT_EQ(box.left, std::max(0, column - 8));
    ASSERT_EQ(box.left + box.width, std::min(50, column + 8));
    whole += box.height == 16 && box.width == 16;
  }
  EXPECT_LT(test::chi_square(row_of_centre, std::vector<double>(40, n / 40.0)), 72.1);  // 39 degrees, 0.1 %
  EXPECT_NEAR(whole / double{n}, 25.0 / 40 * 35 / 50, 0.01);
}

TEST(Erase, MindDatasCutoutDrawsTheCorner) {
  std::vector<std::int64_t> begin(57);
  constexpr int n = 57000;
  for (int i = 0; i < n; ++i) {
    SampleRandom random = erase_draws(static_cast<std::uint64_t>(i)), replay = random;
    const Box box = draw_cutout_box({40, 50}, 16, random, CutoutRule::mindata);
    const int row = static_cast<int>(replay.integer(-16, 40)), column = static_cast<int>(replay.integer(-16, 50));
    ++begin.at(static_cast<std::size_t>(std::int64_t{row} + 16));
    ASSERT_EQ(box.top, std::max(0, row));
    ASSERT_EQ(box.top + box.height, std::clamp(row + 16, 0, 40));
    ASSERT_EQ(box.left, std::max(0, column));
    ASSERT_EQ(box.left + box.width, std::clamp(column + 16, 0, 50));
  }
  EXPECT_LT(test::chi_square(begin, std::vector<double>(57, n / 57.0)), 94.5);  // 56 degrees, 0.1 %
  SampleRandom random = erase_draws(0);
  EXPECT_THROW(draw_cutout_box({40, 50}, 41, random, CutoutRule::mindata), Error);
}

TEST(Erase, FillsTheBoxAndNothingElse) {
  const Image before = test::detailed_image(12, 10, 3);
  Image image = before;
  const Box box{2, 3, 4, 5};
  erase(image.data(), {12, 10}, 3, box, {1, 2, 3});
  std::vector<float> floats(12 * 10 * 3, -5.0f);
  erase(floats.data(), {12, 10}, 3, box, {0.5f, 0.25f, 0.125f});
  for (int y = 0; y < 12; ++y) {
    for (int x = 0; x < 10; ++x) {
      const bool inside = y >= 2 && y < 6 && x >= 3 && x < 8;
      for (int c = 0; c < 3; ++c) {
        const int i = (y * 10 + x) * 3 + c;
        EXPECT_EQ(image.data()[i], inside ? c + 1 : before.data()[i]);
        EXPECT_EQ(floats[static_cast<std::size_t>(i)], inside ? 0.5f / static_cast<float>(1 << c) : -5.0f);
      }
    }
  }
  erase(image.data(), {12, 10}, 3, {5, 5, 0, 0}, {9, 9, 9});  // empty is allowed
  EXPECT_THROW(erase(image.data(), {12, 10}, 3, {9, 3, 4, 5}, {}), Error);
  EXPECT_THROW(erase(image.data(), {12, 10}, 2, box, {}), Error);
}

TEST(Erase, NoiseIsNormalOnFloatsAndUniformOnBytes) {
  constexpr int side = 120;
  std::vector<float> floats(side * side * 3, 100.0f);
  SampleRandom random = erase_draws(2);
  erase_with_noise(floats.data(), {side, side}, 3, {10, 10, 100, 100}, random);
  std::vector<double> noise;
  for (const float v : floats) {
    if (v != 100.0f) noise.push_back(v);
  }
  ASSERT_EQ(noise.size(), 30000u);
  EXPECT_LT(test::kolmogorov_smirnov(noise, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }),
            1.95 / std::sqrt(30000.0));
  Image image(side, side, 1);
  erase_with_noise(image.data(), {side, side}, 1, {0, 0, side, side}, random);
  std::vector<std::int64_t> count(256);
  for (std::size_t i = 0; i < image.byte_size(); ++i) ++count[image.data()[i]];
  EXPECT_LT(test::chi_square(count, std::vector<double>(256, side * side / 256.0)), 330.5);  // 255 degrees, 0.1 %
}

TEST(Erase, RefusesRulesWithoutSense) {
  EXPECT_THROW(check_erasing_rule({0.5, 0.1, 0.3, 3.3}), Error);
  EXPECT_THROW(check_erasing_rule({0.02, 1.5, 0.3, 3.3}), Error);
  EXPECT_THROW(check_erasing_rule({0.02, 0.33, 0, 3.3}), Error);
  SampleRandom random = erase_draws(0);
  EXPECT_THROW(draw_cutout_box({4, 4}, 0, random), Error);
}

}  // namespace
}  // namespace ridgeline::image
