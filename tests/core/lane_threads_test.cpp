#include "ridgeline/core/lane_threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <set>
#include <string>

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

TEST(LaneThreads, RunEachLaneOnceOnAThreadOfItsOwnAndCanBeAskedAgain) {
  LaneThreads lanes(3);
  EXPECT_EQ(lanes.lanes(), 3);
  for (int round = 0; round < 200; ++round) {
    const int wanted = 1 + round % 3;
    std::vector<int> times(3, 0);
    std::vector<std::thread::id> threads(3);
    lanes.run(wanted, [&](int lane) {
      ++times[static_cast<std::size_t>(lane)];
      threads[static_cast<std::size_t>(lane)] = std::this_thread::get_id();
    });
    for (int lane = 0; lane < 3; ++lane) EXPECT_EQ(times[static_cast<std::size_t>(lane)], lane < wanted ? 1 : 0);
    EXPECT_EQ(threads[0], std::this_thread::get_id());
    const std::set<std::thread::id> different(threads.begin(), threads.begin() + wanted);
    EXPECT_EQ(different.size(), static_cast<std::size_t>(wanted));
  }
}

TEST(LaneThreads, LanesMayWaitForEachOther) {
  LaneThreads lanes(2);
  std::atomic<int> turn{0};
  lanes.run(2, [&](int lane) {
    for (int i = lane; i < 50; i += 2) {
      for (int seen = turn; seen != i; seen = turn) turn.wait(seen);
      turn = i + 1;
      turn.notify_all();
    }
  });
  EXPECT_EQ(turn, 50);
}

// In a process whose address space has room for the stacks of only a few threads.
TEST(LaneThreads, WhereTheSystemHasNoMoreThreadsThatIsAnError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's address space cannot be limited";
#endif
  const auto start_many = [] {
    std::size_t pages = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(file, "%zu", &pages) != 1) pages = 0;
      std::fclose(file);
    }
    const rlim_t room = (pages << 12) + (rlim_t{48} << 20);
    const rlimit limit{room, room}, stack{rlim_t{8} << 20, rlim_t{8} << 20};
    ::setrlimit(RLIMIT_STACK, &stack);
    ::setrlimit(RLIMIT_AS, &limit);
    try {
      LaneThreads lanes(64);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::_Exit(7);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(start_many(), ::testing::ExitedWithCode(7), "thread [0-9]+ of 63 cannot be started: ");
}

TEST(LaneThreads, MoreLanesThanThereAreIsABug) {
  LaneThreads lanes(1);
  EXPECT_ANY_THROW(lanes.run(2, [](int) {}));
  EXPECT_ANY_THROW(LaneThreads(0));
}

}  // namespace
}  // namespace ridgeline
