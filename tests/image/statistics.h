// tests/image/statistics.h
//
// Two tests of a sample against a distribution. With fixed seeds their results never change; limits are for 0.1 %.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ridgeline::image::test {

// The largest distance between the distribution of the sample and `cdf`; exceeds 1.95 / sqrt(n) for 0.1 % of samples.
template <class Cdf>
double kolmogorov_smirnov(std::vector<double> sample, Cdf cdf) {
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double distance = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double p = cdf(sample[i]);
    distance = std::max({distance, p - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - p});
  }
  return distance;
}

inline double chi_square(const std::vector<std::int64_t>& seen, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double off = static_cast<double>(seen[i]) - expected[i];
    sum += off * off / expected[i];
  }
  return sum;
}

}  // namespace ridgeline::image::test
