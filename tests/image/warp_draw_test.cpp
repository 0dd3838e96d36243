#include <cmath>

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/image/augment/warp_draw.h"
#include "statistics.h"

namespace ridgeline::image {
namespace {

SampleRandom draws(std::uint64_t sample) { return SampleRandom(philox_key(12, "warp_draw"), 0, sample); }

TEST(WarpDraw, EveryParameterIsUniform) {
  const RandomAffineRule rule{{-30, 10}, 0.25, 0.5, {0.8, 1.2}, {-5, 5}, {0, 8}};
  std::array<std::vector<double>, 4> values;
  std::vector<std::int64_t> moved_x(49), moved_y(49);
  constexpr int n = 20000;
  for (int i = 0; i < n; ++i) {
    SampleRandom random = draws(static_cast<std::uint64_t>(i));
    const AffineRule drawn = draw_affine(rule, {48, 96}, random);
    values[0].push_back((drawn.angle + 30) / 40);
    values[1].push_back((drawn.scale - 0.8) / 0.4);
    values[2].push_back((drawn.shear_x + 5) / 10);
    values[3].push_back(drawn.shear_y / 8);
    ++moved_x.at(static_cast<std::size_t>(drawn.translate_x + 24));
    ++moved_y.at(static_cast<std::size_t>(drawn.translate_y + 24));
  }
  for (auto& sample : values) {
    EXPECT_LT(test::kolmogorov_smirnov(sample, [](double x) { return x; }), 1.95 / std::sqrt(double{n}));
  }
  std::vector<double> expected(49, n / 48.0);  // integers from -24 to 24, the ends half as often
  expected.front() = expected.back() = n / 96.0;
  EXPECT_LT(test::chi_square(moved_x, expected), 84.0);  // 48 degrees, 0.1 %
  EXPECT_LT(test::chi_square(moved_y, expected), 84.0);
}

TEST(WarpDraw, NeutralParametersCostNoDraw) {
  SampleRandom random = draws(1), replay = draws(1);
  const AffineRule drawn = draw_affine({{-10, 10}, 0, 0, {1, 1}, {0, 0}, {0, 4}}, {10, 10}, random);
  EXPECT_EQ(drawn.angle, replay.uniform(-10, 10));
  EXPECT_EQ(drawn.shear_y, replay.uniform(0, 4));
  EXPECT_EQ(drawn.scale, 1);
  EXPECT_EQ(drawn.shear_x, 0);
  EXPECT_EQ(random.bits(), replay.bits());
}

TEST(WarpDraw, PerspectiveMovesCornersInwards) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    SampleRandom random = draws(i), replay = draws(i);
    const PerspectiveCoefficients k = draw_perspective(0.5, {40, 61}, random);
    const auto from = [&](int low, int high) { return static_cast<double>(replay.integer(low, high)); };
    Corners moved;  // half the sides are 30 and 20
    moved[0] = {from(0, 15), from(0, 10)};
    moved[1] = {from(45, 60), from(0, 10)};
    moved[2] = {from(45, 60), from(29, 39)};
    moved[3] = {from(0, 15), from(29, 39)};
    EXPECT_EQ(k, perspective_coefficients({{{0, 0}, {60, 0}, {60, 39}, {0, 39}}}, moved));
  }
  SampleRandom random = draws(0);
  const PerspectiveCoefficients none = draw_perspective(0, {40, 60}, random);
  const PerspectiveCoefficients identity = {1, 0, 0, 0, 1, 0, 0, 0};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(none[i], identity[i], 1e-12);
}

TEST(WarpDraw, ErrorsSayWhatIsAllowed) {
  SampleRandom random = draws(0);
  EXPECT_THROW(check_random_affine_rule({{10, -10}, 0, 0, {1, 1}, {}, {}}), Error);
  EXPECT_THROW(check_random_affine_rule({{}, 1.5, 0, {1, 1}, {}, {}}), Error);
  EXPECT_THROW(check_random_affine_rule({{}, 0, 0, {0, 1}, {}, {}}), Error);
  EXPECT_THROW(draw_angle({5, 4}, random), Error);
  EXPECT_THROW(draw_perspective(1.5, {8, 8}, random), Error);
  EXPECT_THROW(draw_perspective(0.5, {1, 8}, random), Error);
}

}  // namespace
}  // namespace ridgeline::image
