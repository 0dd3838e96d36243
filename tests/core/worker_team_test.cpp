// The threads behind parallel regions: each part runs once, team sizes change, threads sleep, forked children.
#include "ridgeline/core/worker_team.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "ridgeline/core/threads.h"

namespace ridgeline {
namespace {

// How often each part ran for a team of this size.
std::vector<int> parts_done(int count) {
  std::vector<int> done(static_cast<std::size_t>(count));
  WorkerTeam::of_this_thread().run(count, [&](int part) { ++done[static_cast<std::size_t>(part)]; });
  return done;
}

TEST(WorkerTeam, DoesEachPartOnceForTeamsThatGrowAndShrink) {
  for (int round = 0; round < 200; ++round) {
    for (const int count : {1, 5, 2, 9, 3, 1, 8}) ASSERT_EQ(parts_done(count), std::vector<int>(count, 1));
  }
}

TEST(WorkerTeam, HasAThreadForEachPartWhichStays) {
  std::vector<std::thread::id> first(4), second(4);
  for (auto* ids : {&first, &second}) {
    WorkerTeam::of_this_thread().run(
        4, [&](int part) { (*ids)[static_cast<std::size_t>(part)] = std::this_thread::get_id(); });
  }
  EXPECT_EQ(first[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(first.begin(), first.end()).size(), 4u);
  EXPECT_EQ(first, second);
}

TEST(WorkerTeam, WakesThreadsThatHaveGoneToSleep) {
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // longer than a thread waits actively for work
    EXPECT_EQ(parts_done(4), std::vector<int>(4, 1));
    const WorkerTeam::Asleep asleep;
    EXPECT_EQ(parts_done(4), std::vector<int>(4, 1));
  }
}

TEST(WorkerTeam, EachCallingThreadHasItsOwn) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) wrong += parts_done(3) == std::vector<int>(3, 1) ? 0 : 1;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(WorkerTeam, ARegionWithinAPartIsDoneByItsThreadAlone) {
  const ComputeScope team(3);
  std::atomic<int> elements{0}, elsewhere{0};
  parallel_team([&](int, int) {
    const std::thread::id here = std::this_thread::get_id();
    parallel_for(10, 1, [&](std::int64_t begin, std::int64_t end) {
      elements += static_cast<int>(end - begin);
      if (std::this_thread::get_id() != here) ++elsewhere;
    });
  });
  EXPECT_EQ(elements, 30);
  EXPECT_EQ(elsewhere, 0);
}

TEST(WorkerTeam, AChildThatWasForkedMakesThreadsOfItsOwnOrNone) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "under the thread sanitizer a child of a fork may not start threads";
#endif
  ASSERT_EQ(parts_done(3), std::vector<int>(3, 1));
  for (const bool works : {true, false}) {
    const pid_t child = fork();
    if (child == 0) {
      const bool right = !works || parts_done(3) == std::vector<int>(3, 1);
      std::thread([] {}).join();
      _exit(right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(parts_done(3), std::vector<int>(3, 1));
}

}  // namespace
}  // namespace ridgeline
