#include "ridgeline/core/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

constexpr PhiloxKey kKey{0x1234, 0x5678};

// Empty if every value of 0..n-1 occurs once.
::testing::AssertionResult is_bijection(const Permutation& permutation) {
  std::vector<bool> seen(permutation.size());
  for (std::uint64_t i = 0; i < permutation.size(); ++i) {
    const std::uint64_t value = permutation.at(i);
    if (value >= permutation.size()) return ::testing::AssertionFailure() << value << " at " << i << " is outside";
    if (seen[value]) return ::testing::AssertionFailure() << value << " comes twice";
    seen[value] = true;
  }
  return ::testing::AssertionSuccess();
}

TEST(Permutation, IsABijectionForEverySmallSize) {
  for (std::uint64_t n = 0; n <= 2048; ++n) ASSERT_TRUE(is_bijection(Permutation(n, kKey, n))) << n;
}

TEST(Permutation, IsABijectionAroundPowersOfTwo) {
  for (int k = 1; k <= 17; ++k) {
    for (int offset : {-1, 0, 1}) {
      const std::uint64_t n = (std::uint64_t{1} << k) + static_cast<std::uint64_t>(offset);
      ASSERT_TRUE(is_bijection(Permutation(n, kKey, 5))) << n;
    }
  }
}

TEST(Permutation, IsABijectionForRandomSizesOnBothSidesOfTheTable) {
  SampleRandom random({1, 1}, 0, 0);
  for (int i = 0; i < 50; ++i) {
    const auto small = static_cast<std::uint64_t>(random.integer(1, Permutation::kTableLimit - 1));
    const auto large = static_cast<std::uint64_t>(random.integer(Permutation::kTableLimit, 300000));
    ASSERT_TRUE(is_bijection(Permutation(small, kKey, 1))) << small;
    ASSERT_TRUE(is_bijection(Permutation(large, kKey, 1))) << large;
  }
}

TEST(Permutation, AnswersInsideHugeSizesWithoutMemory) {
  for (std::uint64_t n : {std::uint64_t{1} << 40, (std::uint64_t{1} << 33) + 1, ~std::uint64_t{0}}) {
    const Permutation permutation(n, kKey, 0);
    for (std::uint64_t i : {std::uint64_t{0}, n / 3, n - 1}) EXPECT_LT(permutation.at(i), n);
    EXPECT_NE(permutation.at(0), permutation.at(n - 1));
  }
}

TEST(Permutation, RefusesPositionsOutside) {
  EXPECT_THROW(Permutation(0, kKey, 0).at(0), InternalError);
  EXPECT_THROW(Permutation(10, kKey, 0).at(10), InternalError);
  EXPECT_THROW(Permutation(100000, kKey, 0).at(100000), InternalError);
}

TEST(Permutation, ChangesWithKeyAndEpochAndNothingElse) {
  for (std::uint64_t n : {std::uint64_t{1000}, std::uint64_t{100000}}) {
    const Permutation a(n, kKey, 1);
    const Permutation same(n, kKey, 1);
    const Permutation epoch(n, kKey, 2);
    const Permutation key(n, {kKey.k0 + 1, kKey.k1}, 1);
    int epoch_fixed = 0;
    int key_fixed = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      ASSERT_EQ(a.at(i), same.at(i));
      epoch_fixed += a.at(i) == epoch.at(i);
      key_fixed += a.at(i) == key.at(i);
    }
    // Two unrelated permutations agree at one place on average (Poisson); eleven has a probability below 1e-8.
    EXPECT_LT(epoch_fixed, 11);
    EXPECT_LT(key_fixed, 11);
  }
}

// How far apart neighbours of the input end up, and how often they stay neighbours: a permutation that keeps runs or
// drifts (a rotation, too few rounds) fails here.
TEST(Permutation, ScattersNeighbours) {
  for (std::uint64_t n : {std::uint64_t{4096}, std::uint64_t{60000}, std::uint64_t{65536}, std::uint64_t{65537},
                          std::uint64_t{100003}, std::uint64_t{262145}}) {
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      const Permutation permutation(n, kKey, epoch);
      double distance = 0;
      double covariance = 0;
      int neighbours = 0;
      int fixed = 0;
      const double middle = static_cast<double>(n - 1) / 2;
      for (std::uint64_t i = 0; i + 1 < n; ++i) {
        const auto a = static_cast<double>(permutation.at(i));
        const auto b = static_cast<double>(permutation.at(i + 1));
        distance += std::abs(a - b);
        neighbours += std::abs(a - b) == 1;
        fixed += permutation.at(i) == i;
        covariance += (a - middle) * (b - middle);
      }
      const auto pairs = static_cast<double>(n - 1);
      const auto size = static_cast<double>(n);
      // The mean distance of two random places is n/3, the deviation n/sqrt(18); neighbouring pairs share an element,
      // which only narrows the sum. The serial correlation is about normal with deviation 1/sqrt(n).
      EXPECT_NEAR(distance / pairs, size / 3, 6 * size / std::sqrt(18.0) / std::sqrt(pairs)) << n;
      EXPECT_LT(std::abs(covariance / pairs / (size * size / 12)), 6 / std::sqrt(size)) << n;
      EXPECT_LT(neighbours, 16) << n;  // Poisson with mean 2
      EXPECT_LT(fixed, 11) << n;       // Poisson with mean 1
    }
  }
}

// Over many epochs, the position of element 0 is uniformly distributed.
TEST(Permutation, EveryPlaceIsEquallyLikely) {
  for (std::uint64_t n : {std::uint64_t{16}, std::uint64_t{1} << 16}) {
    std::vector<int> counts(16);
    constexpr int kEpochs = 16000;
    for (int epoch = 0; epoch < (n == 16 ? kEpochs : kEpochs / 4); ++epoch) {
      ++counts[Permutation(n, kKey, static_cast<std::uint64_t>(epoch)).at(0) * 16 / n];
    }
    const double expected = n == 16 ? kEpochs / 16.0 : kEpochs / 64.0;
    double chi_squared = 0;
    for (int count : counts) chi_squared += (count - expected) * (count - expected) / expected;
    EXPECT_LT(chi_squared, 15 + 5 * std::sqrt(30.0)) << n;
  }
}

}  // namespace
}  // namespace ridgeline
