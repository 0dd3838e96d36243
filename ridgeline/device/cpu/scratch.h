// ridgeline/device/cpu/scratch.h
//
// Divides a kernel's scratch memory, measured in floats, and distributes work to the compute team.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ridgeline/core/threads.h"

namespace ridgeline::device {

constexpr std::int64_t kLineFloats = 16;

inline std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

class Scratch {
 public:
  // Reserves 64-byte aligned room for n floats; returns its offset.
  std::int64_t reserve(std::int64_t n) {
    const std::int64_t at = floats_;
    floats_ += round_up(n, kLineFloats);
    return at;
  }
  std::size_t bytes() const { return static_cast<std::size_t>(floats_) * sizeof(float); }

 private:
  std::int64_t floats_ = 0;
};

// parallel_items (core/threads.h).
template <class Begin, class Body>
void for_each_item(std::int64_t n, const Begin& begin, const Body& body) {
  parallel_items(n, begin, body);
}
template <class Body>
void for_each_item(std::int64_t n, const Body& body) {
  for_each_item(n, [](int) {}, body);
}

}  // namespace ridgeline::device
