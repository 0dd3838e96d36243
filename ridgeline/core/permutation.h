// ridgeline/core/permutation.h
//
// A keyed permutation of 0..n-1. Below 65,536 elements a Fisher-Yates shuffle by Philox, kept as a table; above, a
// balanced Feistel network with cycle walking, which needs no memory: position i is answered in O(1).
// Immutable after construction: any thread may call at().
#pragma once

#include <cstdint>
#include <vector>

#include "ridgeline/core/random.h"

namespace ridgeline {

class Permutation {
 public:
  // The order of epoch `epoch` under `key`. n may be 0.
  Permutation(std::uint64_t n, PhiloxKey key, std::uint64_t epoch);
  std::uint64_t size() const { return n_; }
  // The element at position i < size().
  std::uint64_t at(std::uint64_t i) const;

  static constexpr std::uint64_t kTableLimit = 65536;

 private:
  std::uint64_t n_;
  std::vector<std::uint32_t> table_;       // below kTableLimit
  int half_bits_ = 0;                      // Feistel: width of one half
  std::vector<std::uint32_t> round_keys_;  // Feistel: two words a round
};

}  // namespace ridgeline
