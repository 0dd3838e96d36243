#include "ridgeline/core/permutation.h"

#include <bit>
#include <numeric>
#include <utility>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

constexpr int kRounds = 8;

// A strong 32-bit mixer ("lowbias32", Wellons, 2018), keyed by two words.
std::uint32_t mix(std::uint32_t x, std::uint32_t a, std::uint32_t b) {
  x += a;
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= b;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

}  // namespace

Permutation::Permutation(std::uint64_t n, PhiloxKey key, std::uint64_t epoch) : n_(n) {
  if (n < kTableLimit) {
    table_.resize(n);
    std::iota(table_.begin(), table_.end(), 0u);
    SampleRandom random(key, epoch, 0);
    for (std::uint64_t i = n; i > 1; --i) {
      std::swap(table_[i - 1], table_[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
    }
    return;
  }
  // Width of n-1, rounded up to even so that both halves are equal; a walk needs fewer than four steps on average.
  half_bits_ = (static_cast<int>(std::bit_width(n - 1)) + 1) / 2;
  SampleRandom random(key, epoch, 1);
  for (int i = 0; i < 2 * kRounds; ++i) round_keys_.push_back(random.bits());
}

std::uint64_t Permutation::at(std::uint64_t i) const {
  RIDGELINE_CHECK(i < n_, "position outside the permutation");
  if (half_bits_ == 0) return table_[i];
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t x = i;
  do {  // cycle walking: the network permutes 2^(2*half_bits_) values, those outside 0..n-1 are walked through
    std::uint64_t left = x >> half_bits_;
    std::uint64_t right = x & mask;
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t f =
          mix(static_cast<std::uint32_t>(right), round_keys_[2 * round], round_keys_[2 * round + 1]);
      left = std::exchange(right, left ^ (f & mask));
    }
    x = (left << half_bits_) | right;
  } while (x >= n_);
  return x;
}

}  // namespace ridgeline
