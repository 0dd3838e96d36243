#include "ridgeline/core/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

// Known-answer vectors of Random123 1.14, tests/kat_vectors, "philox4x32 10".
TEST(Philox, GivesThePublishedVectors) {
  EXPECT_EQ(philox4x32({0, 0}, {0, 0, 0, 0}), (PhiloxBlock{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(philox4x32({0xffffffffu, 0xffffffffu}, {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}),
            (PhiloxBlock{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(philox4x32({0xa4093822u, 0x299f31d0u}, {0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}),
            (PhiloxBlock{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(Philox, ElementsAreLanesOfCountedBlocks) {
  const PhiloxKey key{7, 9};
  const std::uint64_t step = 0x1234567890ull;
  for (std::uint64_t element : {0ull, 1ull, 3ull, 4ull, 4095ull, (1ull << 34) + 2}) {
    const std::uint64_t block = element / 4;
    const PhiloxBlock expected = philox4x32(
        key, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0x34567890u, 0x12u});
    EXPECT_EQ(philox_element(key, step, element), expected[element % 4]) << element;
  }
}

TEST(Philox, KeysOfNeighbouringSeedsAndNamesDiffer) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> keys;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const char* name : {"", "a", "b", "aa", "dropout", "dropout_1", "shuffle"}) {
      const PhiloxKey key = philox_key(seed, name);
      keys.insert({key.k0, key.k1});
    }
  }
  EXPECT_EQ(keys.size(), 700u);
}

// The key of a name is part of every checkpoint, so it may never change. The reference is the definition in random.h,
// in 128-bit arithmetic with explicit remainders.
TEST(Philox, TheHashOfANameIsFixed) {
  auto reference = [](std::string_view bytes, std::uint64_t seed) {
    unsigned __int128 h = 0xcbf29ce484222325ull ^ seed;
    const unsigned __int128 modulus = static_cast<unsigned __int128>(1) << 64;
    for (unsigned char c : bytes) h = ((h ^ c) * 0x100000001b3ull) % modulus;
    h = (h + 0x9e3779b97f4a7c15ull) % modulus;
    h = ((h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull) % modulus;
    h = ((h ^ (h >> 27)) * 0x94d049bb133111ebull) % modulus;
    return static_cast<std::uint64_t>(h ^ (h >> 31));
  };
  for (std::string_view text : {"", "a", "dropout_1", "\xff\x80 bytes above 127"}) {
    EXPECT_EQ(hash64(text), reference(text, 0)) << text;
    EXPECT_EQ(hash64(text, 42), reference(text, 42)) << text;
  }
}

TEST(SampleRandom, IsAPureFunctionOfKeyEpochAndSample) {
  SampleRandom a({1, 2}, 3, 4);
  SampleRandom b({1, 2}, 3, 4);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.bits(), b.bits());
  const std::uint32_t first = SampleRandom({1, 2}, 3, 4).bits();
  EXPECT_NE(first, SampleRandom({1, 3}, 3, 4).bits());
  EXPECT_NE(first, SampleRandom({1, 2}, 4, 4).bits());
  EXPECT_NE(first, SampleRandom({1, 2}, 3, 5).bits());
  EXPECT_NE(first, SampleRandom({1, 2}, 3, 4 + (1ull << 32)).bits());
}

TEST(SampleRandom, DrawsAreTheBlocksInOrder) {
  SampleRandom random({5, 6}, 7, 0x900000008ull);
  for (std::uint32_t draw = 0; draw < 64; ++draw) {
    EXPECT_EQ(random.bits(), philox4x32({5, 6}, {draw / 4, 7, 8, 9})[draw % 4]) << draw;
  }
}

TEST(SampleRandom, UniformStaysBelowOneAndHasItsMoments) {
  EXPECT_EQ(uniform_float(0), 0.0f);
  EXPECT_LT(uniform_float(0xffffffffu), 1.0f);
  SampleRandom random({11, 12}, 0, 0);
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 200000;
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
  }
  // Five standard errors: sd(u) = 0.2887, sd(u^2) = 0.2981.
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * 0.2887 / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0 / 3.0, 5 * 0.2981 / std::sqrt(kDraws));
  for (int i = 0; i < 1000; ++i) {
    const double u = random.uniform(-2.0, 3.0);
    EXPECT_TRUE(u >= -2.0 && u < 3.0);
  }
}

TEST(SampleRandom, NormalHasItsMoments) {
  SampleRandom random({13, 14}, 0, 0);
  constexpr int kDraws = 200000;
  double sum = 0, squares = 0, cubes = 0, fourths = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double z = random.normal();
    ASSERT_TRUE(std::isfinite(z));
    sum += z;
    squares += z * z;
    cubes += z * z * z;
    fourths += z * z * z * z;
  }
  // Five standard errors; var(z^k) = 1, 2, 15, 96.
  EXPECT_NEAR(sum / kDraws, 0.0, 5 * std::sqrt(1.0 / kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(cubes / kDraws, 0.0, 5 * std::sqrt(15.0 / kDraws));
  EXPECT_NEAR(fourths / kDraws, 3.0, 5 * std::sqrt(96.0 / kDraws));
}

TEST(SampleRandom, IntegersAreEvenlySpreadOverBothEnds) {
  for (const std::int64_t range : {1, 2, 3, 7, 10, 1000}) {
    SampleRandom random({15, 16}, 0, static_cast<std::uint64_t>(range));
    std::vector<int> counts(static_cast<std::size_t>(range));
    const int draws = 1000 * static_cast<int>(range);
    for (int i = 0; i < draws; ++i) {
      const std::int64_t value = random.integer(-3, range - 4);
      ASSERT_GE(value, -3);
      ASSERT_LE(value, range - 4);
      ++counts[static_cast<std::size_t>(value + 3)];
    }
    double chi_squared = 0;
    for (int count : counts) chi_squared += (count - 1000.0) * (count - 1000.0) / 1000.0;
    // Mean range-1, variance 2(range-1): five standard deviations.
    EXPECT_LT(chi_squared, static_cast<double>(range - 1) + 5 * std::sqrt(2.0 * static_cast<double>(range - 1)) + 1e-9)
        << range;
  }
}

// With plain multiply-shift, a range of 3 * 2^30 would give every third value twice as often as the others.
TEST(SampleRandom, WideIntegerRangesShowNoBias) {
  SampleRandom random({17, 18}, 0, 0);
  constexpr std::int64_t kRange = std::int64_t{3} << 30;
  std::array<int, 3> by_remainder{};
  constexpr int kDraws = 30000;
  for (int i = 0; i < kDraws; ++i) ++by_remainder[static_cast<std::size_t>(random.integer(0, kRange - 1) % 3)];
  for (int count : by_remainder) EXPECT_NEAR(count, kDraws / 3, 5 * std::sqrt(kDraws * 2.0 / 9.0));
}

TEST(SampleRandom, IntegerRangesEndAtThirtyTwoBits) {
  SampleRandom random({19, 20}, 0, 0);
  const std::uint32_t expected = SampleRandom({19, 20}, 0, 0).bits();
  EXPECT_EQ(random.integer(0, 0xffffffffll), static_cast<std::int64_t>(expected));
  EXPECT_EQ(random.integer(5, 5), 5);
  EXPECT_THROW(random.integer(0, 0x100000000ll), InternalError);
  EXPECT_THROW(random.integer(1, 0), InternalError);
  EXPECT_THROW(random.integer(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()),
               InternalError);
}

}  // namespace
}  // namespace ridgeline
