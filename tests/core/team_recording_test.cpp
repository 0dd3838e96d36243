// A recording tells how work would be divided over a team: items and their times, in the order of the team's threads.
#include "ridgeline/core/team_recording.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "ridgeline/core/threads.h"

namespace ridgeline {
namespace {

double g_now = 0;  // seconds of a clock that the tests control
double held_clock() { return g_now; }

TEST(TeamRecording, TimesEachChunkOfATeamThatTheMachineNeedNotHave) {
  const ComputeScope team(7);
  TeamRecording recording(held_clock);
  g_now += 3;
  std::vector<std::pair<std::int64_t, std::int64_t>> chunks;
  parallel_for(10, 2, [&](std::int64_t begin, std::int64_t end) {
    chunks.emplace_back(begin, end);
    g_now += static_cast<double>(end - begin);
  });
  const TeamWork work = recording.take();
  EXPECT_EQ(chunks, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 2}, {2, 4}, {4, 6}, {6, 8}, {8, 10}}));
  ASSERT_EQ(work.regions.size(), 1u);
  EXPECT_EQ(work.regions[0].threads, 7);
  EXPECT_EQ(work.regions[0].sizes, std::vector<std::int64_t>(5, 2));
  EXPECT_EQ(work.regions[0].seconds, std::vector<double>(5, 2.0));
  EXPECT_EQ(work.serial_seconds, 3);
  EXPECT_FALSE(work.library);
  EXPECT_TRUE(recording.take().regions.empty());
}

TEST(TeamRecording, GivesEachItemToTheThreadThatItsRunBelongsTo) {
  const ComputeScope team(3);
  TeamRecording recording(held_clock);
  std::vector<std::pair<std::int64_t, int>> items;
  std::vector<int> begun;
  parallel_items(
      5, [&](int thread) { begun.push_back(thread); },
      [&](std::int64_t item, int thread) {
        items.emplace_back(item, thread);
        g_now += 1;
      });
  EXPECT_EQ(items, (std::vector<std::pair<std::int64_t, int>>{{0, 0}, {1, 1}, {2, 1}, {3, 2}, {4, 2}}));
  EXPECT_EQ(begun, (std::vector<int>{0, 1, 2}));
  const TeamWork work = recording.take();
  ASSERT_EQ(work.regions.size(), 1u);
  EXPECT_EQ(work.regions[0].dealt, TeamRegion::Dealt::items);
  EXPECT_EQ(work.regions[0].seconds, std::vector<double>(5, 1.0));
}

TEST(TeamRecording, CountsARegionWithinAPartAsThePartsOwnWork) {
  const ComputeScope team(2);
  TeamRecording recording(held_clock);
  parallel_team([&](int, int threads) {
    EXPECT_EQ(threads, 2);
    EXPECT_EQ(TeamRecording::active(), nullptr);
    ComputeScope alone(1);
    parallel_for(4, 1, [&](std::int64_t begin, std::int64_t end) { g_now += static_cast<double>(end - begin); });
  });
  const TeamWork work = recording.take();
  ASSERT_EQ(work.regions.size(), 1u);
  EXPECT_EQ(work.regions[0].seconds, (std::vector<double>{4, 4}));
}

TEST(TeamRecording, IsOverWithItsScopeAndBehindAnException) {
  const ComputeScope team(2);
  {
    TeamRecording recording(held_clock);
    EXPECT_THROW(parallel_for(2, 1, [](std::int64_t, std::int64_t) { throw std::runtime_error("no"); }),
                 std::runtime_error);
    EXPECT_EQ(TeamRecording::active(), &recording);
    EXPECT_EQ(compute_threads(), 2);
  }
  EXPECT_EQ(TeamRecording::active(), nullptr);
}

}  // namespace
}  // namespace ridgeline
