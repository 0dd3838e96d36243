#include <cmath>
#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/image/augment/mix.h"
#include "statistics.h"
#include "tests/support/paths.h"

namespace ridgeline::image {
namespace {

SampleRandom mix_draws(std::uint64_t sample) { return SampleRandom(philox_key(9, "mix"), 0, sample); }

constexpr Size kSize = {6, 7};
constexpr int kSamples = 3, kClasses = 4, kChannels = 2;
constexpr std::int64_t kValues = 6 * 7 * kChannels;

// The batch of mix_golden.txt.
std::vector<float> golden_images() {
  std::vector<float> images;
  for (int i = 0; i < kSamples * kValues; ++i) {
    const float x = static_cast<float>(i), value = x * 37 + x * x * 11;
    images.push_back(std::fmod(value, 251.0f) / 251.0f);
  }
  return images;
}

std::vector<float> golden_labels() {
  std::vector<float> labels(kSamples * kClasses);
  labels[3] = labels[4] = labels[9] = 1;
  return labels;
}

double read_number(std::istringstream& line) {
  std::string word;
  line >> word;
  return std::strtod(word.c_str(), nullptr);  // also in hexadecimal
}

void expect_same(std::istringstream& line, const std::vector<float>& ours) {
  for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_EQ(ours[i], static_cast<float>(read_number(line))) << i;
}

TEST(Mix, MixUpAndCutMixAreTorchvisions) {
  std::istringstream file(read_file(testing::source_directory() + "/tests/data/image/mix_golden.txt"));
  std::string text, kind;
  int cases = 0;
  while (std::getline(file, text)) {
    std::istringstream line(text);
    line >> kind;
    const double lambda = read_number(line);
    std::vector<float> images = golden_images(), labels = golden_labels();
    if (kind == "mixup") {
      mix_samples(images.data(), kSamples, kValues, lambda);
      mix_samples(labels.data(), kSamples, kClasses, lambda);
    } else {
      int row, column, left, top, right, bottom;
      line >> row >> column >> left >> top >> right >> bottom;
      const CutMix mix = cutmix_box(lambda, kSize, row, column);
      EXPECT_EQ(mix.box, (Box{top, left, bottom - top, right - left})) << text.substr(0, 60);
      EXPECT_EQ(mix.lambda, read_number(line));
      cut_and_paste(images.data(), kSamples, kSize, kChannels, mix.box);
      mix_samples(labels.data(), kSamples, kClasses, mix.lambda);
    }
    SCOPED_TRACE(text.substr(0, 60));
    expect_same(line, images);
    expect_same(line, labels);
    ++cases;
  }
  EXPECT_EQ(cases, 9);
}

TEST(Mix, BytesAreRoundedToNearest) {
  std::vector<std::uint8_t> data = {0, 255, 10, 255, 0, 13};  // three samples of two values
  mix_samples(data.data(), 3, 2, 0.75);
  EXPECT_EQ(data, (std::vector<std::uint8_t>{0, 195, 8, 255, 3, 74}));
}

TEST(Mix, PastesTheBoxOfTheSampleBefore) {
  std::vector<std::uint8_t> data(3 * 4 * 5);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(100 * (i / 20) + i % 20);
  const std::vector<std::uint8_t> before = data;
  cut_and_paste(data.data(), 3, {4, 5}, 1, {1, 2, 2, 3});
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::size_t sample = i / 20, y = i % 20 / 5, x = i % 5;
    const bool inside = y >= 1 && y < 3 && x >= 2;
    EXPECT_EQ(data[i], inside ? before[(sample + 2) % 3 * 20 + i % 20] : before[i]) << i;
  }
  std::vector<std::uint8_t> one = {1, 2, 3, 4};
  cut_and_paste(one.data(), 1, {2, 2}, 1, {0, 0, 2, 2});
  mix_samples(one.data(), 1, 4, 0.25);
  EXPECT_EQ(one, (std::vector<std::uint8_t>{1, 2, 3, 4}));
}

// The regularised incomplete beta function for equal parameters, as the sum of many thin trapezia in t = x^a, which
// removes the pole at 0; the other half by symmetry.
double beta_cdf(double a, double x) {
  if (x > 0.5) return 1 - beta_cdf(a, 1 - x);
  const double log_b = 2 * std::lgamma(a) - std::lgamma(2 * a), end = std::pow(x, a);
  constexpr int n = 200;
  double sum = 0;
  for (int i = 0; i < n; ++i) {  // integral of x^(a-1) (1-x)^(a-1) dx = integral of (1 - t^(1/a))^(a-1) dt / a
    sum += std::pow(1 - std::pow((i + 0.5) / n * end, 1 / a), a - 1);
  }
  return sum * end / n / a / std::exp(log_b);
}

TEST(Mix, BetaFollowsItsRule) {
  constexpr int n = 20000;
  for (const double alpha : {0.1, 0.2, 0.4, 1.0, 2.5, 8.0}) {
    std::vector<double> values;
    for (int i = 0; i < n; ++i) {
      SampleRandom random = mix_draws(static_cast<std::uint64_t>(i));
      values.push_back(draw_beta(alpha, alpha, random));
      ASSERT_GE(values.back(), 0);
      ASSERT_LE(values.back(), 1);
    }
    EXPECT_LT(test::kolmogorov_smirnov(values, [&](double x) { return beta_cdf(alpha, x); }),
              1.95 / std::sqrt(double{n}))
        << alpha;
  }
  EXPECT_NEAR(beta_cdf(1, 0.3), 0.3, 1e-9);  // checks the reference itself
  EXPECT_NEAR(beta_cdf(2, 0.3), 3 * 0.09 - 2 * 0.027, 1e-5);
  EXPECT_NEAR(beta_cdf(0.5, 0.2), 2 / std::acos(-1.0) * std::asin(std::sqrt(0.2)), 1e-5);
}

TEST(Mix, UnequalBetaAndGammaHaveTheirMoments) {
  constexpr int n = 40000;
  double mean = 0, gamma = 0, square = 0;
  for (int i = 0; i < n; ++i) {
    SampleRandom random = mix_draws(static_cast<std::uint64_t>(i));
    mean += draw_beta(2, 0.5, random) / n;
    const double g = std::exp(draw_log_gamma(3.5, random));
    gamma += g / n, square += g * g / n;
  }
  EXPECT_NEAR(mean, 0.8, 0.005);
  EXPECT_NEAR(gamma, 3.5, 0.04);
  EXPECT_NEAR(square - gamma * gamma, 3.5, 0.15);
}

TEST(Mix, TinyAlphasStillGiveBothEnds) {
  int ones = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    SampleRandom random = mix_draws(i);
    const double value = draw_beta(1e-4, 1e-4, random);  // in double, the Gamma variates themselves are all 0
    ASSERT_FALSE(std::isnan(value));
    ones += value > 0.5;
  }
  EXPECT_NEAR(ones, 500, 60);
}

TEST(Mix, CutMixDrawsLambdaThenColumnThenRow) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    SampleRandom random = mix_draws(i), replay = mix_draws(i);
    const CutMix mix = draw_cutmix(0.7, {40, 60}, random);
    const double lambda = draw_beta(0.7, 0.7, replay);
    const int column = static_cast<int>(replay.integer(0, 59)), row = static_cast<int>(replay.integer(0, 39));
    EXPECT_EQ(mix.box, cutmix_box(lambda, {40, 60}, row, column).box);
    EXPECT_EQ(mix.lambda, 1.0 - mix.box.height * mix.box.width / 2400.0);
  }
}

TEST(Mix, ErrorsSayWhatIsAllowed) {
  SampleRandom random = mix_draws(0);
  float value = 0;
  EXPECT_THROW(draw_beta(0, 1, random), Error);
  EXPECT_THROW(mix_samples(&value, 1, 1, 1.5), Error);
  EXPECT_THROW(cutmix_box(-0.1, {4, 4}, 0, 0), Error);
  EXPECT_THROW(cut_and_paste(&value, 1, {1, 1}, 1, {0, 0, 2, 1}), Error);
}

}  // namespace
}  // namespace ridgeline::image
