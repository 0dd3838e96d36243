// ridgeline/device/cpu/scratch.h
//
// Parts of a kernel's scratch memory, measured in floats, and work handed out to the compute team.
#pragma once

#include <algorithm>
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

// body(item, thread) for items 0 to n - 1. Each thread has a run of them, as parallel_for deals them out, so that what
// one pass has written is read by the same core in the next: cores may have last caches of their own. A thread that is
// through with its run helps others with theirs: other work may hold one up. So the item behind an item is what a
// thread most often does next. begin(thread) comes before the first item of a thread that gets one.
template <class Begin, class Body>
void for_each_item(std::int64_t n, const Begin& begin, const Body& body) {
  constexpr std::int64_t kMostRuns = 64;
  struct alignas(64) Run {
    std::atomic<std::int64_t> next{0};
  };
  Run runs[kMostRuns];
  const std::int64_t count = std::min<std::int64_t>(compute_threads(), kMostRuns);
  const auto border = [&](std::int64_t run) { return n * run / count; };
  for (std::int64_t run = 0; run < count; ++run) runs[run].next.store(border(run), std::memory_order_relaxed);
  parallel_team([&](int thread, int) {
    bool begun = false;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t run = (thread + i) % count, end = border(run + 1);
      for (;;) {
        const std::int64_t item = runs[run].next.fetch_add(1, std::memory_order_relaxed);
        if (item >= end) break;
        if (!begun) begin(thread);
        begun = true;
        body(item, thread);
      }
    }
  });
}
template <class Body>
void for_each_item(std::int64_t n, const Body& body) {
  for_each_item(n, [](int) {}, body);
}

}  // namespace ridgeline::device
