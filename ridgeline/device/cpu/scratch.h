// ridgeline/device/cpu/scratch.h
//
// Parts of a kernel's scratch memory, measured in floats, and work handed out to the compute team.
#pragma once

#include <atomic>
#include <cstdint>

#include "ridgeline/core/threads.h"

namespace ridgeline::device {

constexpr std::int64_t kLineFloats = 16;

inline std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

class Scratch {
 public:
  // 64-byte aligned room for n floats; returns where it starts.
  std::int64_t reserve(std::int64_t n) {
    const std::int64_t at = floats_;
    floats_ += round_up(n, kLineFloats);
    return at;
  }
  std::size_t bytes() const { return static_cast<std::size_t>(floats_) * sizeof(float); }

 private:
  std::int64_t floats_ = 0;
};

// body(item, thread) for items 0 to n - 1, each on whatever thread of the team is free: other work may hold one up.
// begin(thread) comes before the first item of a thread that gets one.
template <class Begin, class Body>
void for_each_item(std::int64_t n, const Begin& begin, const Body& body) {
  std::atomic<std::int64_t> next{0};
  parallel_team([&](int thread, int) {
    std::int64_t item = next.fetch_add(1, std::memory_order_relaxed);
    if (item < n) begin(thread);
    for (; item < n; item = next.fetch_add(1, std::memory_order_relaxed)) body(item, thread);
  });
}
template <class Body>
void for_each_item(std::int64_t n, const Body& body) {
  for_each_item(n, [](int) {}, body);
}

}  // namespace ridgeline::device
