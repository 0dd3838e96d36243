// Work that is distributed item by item: every item is done once, by any free thread.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "ridgeline/device/cpu/scratch.h"

namespace ridgeline {
namespace {

// Also more threads than runs, and fewer items than threads.
TEST(Items, EachIsDoneOnceAndAThreadBeginsOnce) {
  for (const int threads : {1, 2, 3, 8, 70}) {
    const ComputeScope team(threads);
    for (const std::int64_t n : {0, 1, 5, 64, 1000}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(n)), begun(static_cast<std::size_t>(threads)),
          worked(static_cast<std::size_t>(threads));
      device::for_each_item(
          n, [&](int thread) { ++begun[static_cast<std::size_t>(thread)]; },
          [&](std::int64_t item, int thread) {
            ++done[static_cast<std::size_t>(item)];
            ++worked[static_cast<std::size_t>(thread)];
          });
      for (const auto& times : done) EXPECT_EQ(times, 1) << threads << " threads, " << n << " items";
      for (std::size_t thread = 0; thread < begun.size(); ++thread)
        EXPECT_EQ(begun[thread], worked[thread] > 0 ? 1 : 0) << threads << " threads, " << n << " items";
    }
  }
}

TEST(Items, AThreadThatIsHeldUpIsHelped) {
  const ComputeScope team(2);
  constexpr std::int64_t kItems = 20;
  std::atomic<std::int64_t> others{0};
  std::int64_t seen = 0;  // by the delayed thread
  device::for_each_item(kItems, [&](std::int64_t item, int /*thread*/) {
    if (item > 0) {
      ++others;
      return;
    }
    // The first item of the first run waits for all others, half of which are in the same run.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (others < kItems - 1 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    seen = others;
  });
  EXPECT_EQ(seen, kItems - 1);
}

}  // namespace
}  // namespace ridgeline
