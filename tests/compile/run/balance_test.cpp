// The bound that follows from recorded work of a team, computed by hand.
#include "ridgeline/compile/run/balance.h"

#include <gtest/gtest.h>

namespace ridgeline {
namespace {

using Dealt = TeamRegion::Dealt;

TEST(Balance, AThreadThatIsThroughTakesItemsOfOthers) {
  // Two runs of three items: 5 and 1; the second thread helps, so neither waits longer than one item.
  const TeamRegion region{Dealt::items, 2, {3, 1, 1, 1, 1, 1}};
  EXPECT_EQ(team_seconds(region), 4);
  EXPECT_EQ(team_seconds({Dealt::items, 4, {1, 1, 1, 1, 1}}), 2);
  EXPECT_EQ(team_seconds({Dealt::items, 64, {2, 1, 1}}), 2);
}

TEST(Balance, ChunksCostWhatTheirSizesSay) {
  EXPECT_EQ(team_seconds({Dealt::chunks, 4, {1, 2, 3, 2}, {10, 10, 10, 10}}), 2);
  EXPECT_EQ(team_seconds({Dealt::chunks, 4, {4, 4}, {30, 10}}), 6);
}

TEST(Balance, SerialPartsAndLargeItemsBoundWhatATeamCanDo) {
  const LaunchBalance balance = balance_of(
      {.regions = {{Dealt::items, 4, {2, 2, 2, 2, 2, 2}}, {Dealt::bodies, 4, {1, 1, 1, 1}}}, .serial_seconds = 1});
  EXPECT_EQ(balance.barriers, 2);
  EXPECT_EQ(balance.items, 6);
  EXPECT_DOUBLE_EQ(balance.largest_share, 2.0 / 12);
  EXPECT_EQ(balance.seconds, 17);
  EXPECT_EQ(balance.longest, 1 + 4 + 1);
  EXPECT_DOUBLE_EQ(balance.bound(4), 17.0 / 24);
}

TEST(Balance, LaunchesThatALibraryDividesAreNotPartOfTheBound) {
  std::vector<LaunchReport> launches(3);
  launches[0].ran = launches[1].ran = true;
  launches[0].work = {.regions = {{Dealt::bodies, 2, {3, 1}}}};
  launches[1].work = {.serial_seconds = 6, .library = true};
  const StepBalance step = balance_of(launches, 2);
  EXPECT_EQ(step.seconds, 10);
  EXPECT_EQ(step.library_seconds, 6);
  EXPECT_DOUBLE_EQ(step.bound(), 4.0 / 6);
}

TEST(Balance, OfSeveralRunsEachPartsShortestTimeCounts) {
  TeamWork least{.regions = {{Dealt::bodies, 2, {3, 1}}}, .serial_seconds = 2};
  take_least(least, {.regions = {{Dealt::bodies, 2, {2, 4}}}, .serial_seconds = 3});
  EXPECT_EQ(least.regions[0].seconds, (std::vector<double>{2, 1}));
  EXPECT_EQ(least.serial_seconds, 2);
}

TEST(Balance, PartsThatTookALittleLongerCountAsTheirRegionsMedian) {
  TeamWork work{.regions = {{Dealt::items, 2, {1, 1.4, 0.5, 1, 1.6}}}};
  level(work);
  EXPECT_EQ(work.regions[0].seconds, (std::vector<double>{1, 1, 0.5, 1, 1.6}));
}

}  // namespace
}  // namespace ridgeline
