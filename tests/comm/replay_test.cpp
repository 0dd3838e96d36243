#include "ridgeline/comm/model/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/error_of.h"

namespace ridgeline::comm {
namespace {

// Two ranks whose all-reduce of n bytes takes n * `seconds_a_byte` + `call` seconds.
Cluster two_ranks(double seconds_a_byte, double call = 0) {
  return {.nodes = 1, .ranks_per_node = 2, .inside = {1 / seconds_a_byte, 0}, .call_seconds = call};
}

// A forward pass of 1 s, then `layers` launches of 1 s that finish 100 bytes each, and updates of 0.5 s in total.
StepTimeline layers(int count) {
  StepTimeline timeline;
  timeline.parts.push_back({.name = "forward", .seconds = 1});
  for (int i = 0; i < count; ++i) timeline.parts.push_back({.name = "layer", .seconds = 1, .gradient_bytes = 100});
  timeline.parts.push_back({.name = "update", .seconds = 0.5, .update = true});
  return timeline;
}

std::vector<int> each(int count) {
  std::vector<int> lasts;
  for (int i = 0; i < count; ++i) lasts.push_back(i);
  return lasts;
}

TEST(Replay, AFastNetworkHidesAllButTheLastCall) {
  // 0.25 s per layer: ready at 2, 3, ..., 9; the last exchange ends 0.25 s after the backward pass, then come 0.5 s of
  // updates, of which the last eighth waits for it.
  const Replay r = replay(layers(8), two_ranks(0.0025), each(8));
  EXPECT_DOUBLE_EQ(r.compute_seconds, 9.5);
  EXPECT_DOUBLE_EQ(r.exchange_seconds, 2);
  EXPECT_DOUBLE_EQ(r.serial_seconds, 11.5);
  EXPECT_DOUBLE_EQ(r.buckets[3].start, 5);
  EXPECT_DOUBLE_EQ(r.buckets[7].end, 9.25);
  // The updates of the first seven take 0.4375 s, longer than the last call.
  EXPECT_DOUBLE_EQ(r.step_seconds, 9.5);
  EXPECT_DOUBLE_EQ(r.hidden_share(), 1);
}

TEST(Replay, ASlowNetworkIsNeverIdle) {
  // 2 s per layer: the exchanges run one after the other from the first gradient on.
  const Replay r = replay(layers(4), two_ranks(0.02), each(4));
  EXPECT_DOUBLE_EQ(r.buckets[3].end, 2 + 4 * 2.0);
  EXPECT_DOUBLE_EQ(r.step_seconds, 10 + 0.5 / 4);
  EXPECT_DOUBLE_EQ(r.hidden_share(), 1 - (10.125 - 5.5) / 8);
}

TEST(Replay, OneBucketWaitsForTheLastGradient) {
  const Replay r = replay(layers(4), two_ranks(0.0025), {3});
  EXPECT_DOUBLE_EQ(r.buckets[0].start, 5);
  EXPECT_EQ(r.buckets[0].bytes, 400);
  EXPECT_DOUBLE_EQ(r.step_seconds, r.serial_seconds);
  EXPECT_EQ(r.hidden_share(), 0);
}

TEST(Replay, OneRankExchangesNothing) {
  Cluster alone = two_ranks(1);
  alone.ranks_per_node = 1;
  const Replay r = replay(layers(4), alone, each(4));
  EXPECT_DOUBLE_EQ(r.step_seconds, r.compute_seconds);
  EXPECT_EQ(r.hidden_share(), 1);
}

TEST(Replay, BucketsHoldAtLeastTheirSize) {
  EXPECT_EQ(buckets_of_size(layers(5), 1), each(5));
  EXPECT_EQ(buckets_of_size(layers(5), 200), (std::vector<int>{1, 3, 4}));
  EXPECT_EQ(buckets_of_size(layers(5), 201), (std::vector<int>{2, 4}));
  EXPECT_EQ(buckets_of_size(layers(5), 1000), (std::vector<int>{4}));
  EXPECT_TRUE(buckets_of_size({}, 1).empty());
}

TEST(Replay, WrongBucketsAreTold) {
  for (const std::vector<int>& lasts : {std::vector<int>{}, {2}, {0, 0, 3}, {2, 1, 3}, {4}})
    EXPECT_NE(error_of([&] { replay(layers(4), two_ranks(1), lasts); }).find("the last one at 3"), std::string::npos);
  EXPECT_NE(error_of([] { replay(layers(2), two_ranks(1), {-1, 1}); }).find("ascending"), std::string::npos);
  for (const int most : {0, 65})
    EXPECT_NE(error_of([&] { best_buckets(layers(4), two_ranks(1), most); }).find("buckets (allowed: 1 to 64)"),
              std::string::npos);
  EXPECT_NE(error_of([] { best_buckets(layers(4001), two_ranks(1), 2); }).find("4001 launches finish gradients"),
            std::string::npos);
}

// Compared with every possible division into buckets.
TEST(Replay, TheBestBucketsAreThoseOfAllPartitions) {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    StepTimeline timeline;
    const int n = 1 + static_cast<int>(random() % 9);
    for (int i = 0; i < n; ++i)
      timeline.parts.push_back({.name = "layer",
                                .seconds = static_cast<double>(random() % 1000) / 1000,
                                .gradient_bytes = static_cast<std::int64_t>(1 + random() % 1000)});
    const Cluster cluster =
        two_ranks(static_cast<double>(random() % 1000) / 1e6 + 1e-6, static_cast<double>(random() % 1000) / 2000);
    const int most = 1 + static_cast<int>(random() % 9);
    double least = 1e30;
    for (unsigned cut = 0; cut < 1u << (n - 1); ++cut) {
      std::vector<int> lasts;
      for (int i = 0; i < n; ++i) {
        if (i == n - 1 || (cut >> i & 1) != 0) lasts.push_back(i);
      }
      if (static_cast<int>(lasts.size()) > most) continue;
      least = std::min(least, replay(timeline, cluster, lasts).buckets.back().end);
    }
    const std::vector<int> best = best_buckets(timeline, cluster, most);
    EXPECT_LE(static_cast<int>(best.size()), most);
    EXPECT_DOUBLE_EQ(replay(timeline, cluster, best).buckets.back().end, least);
  }
}

TEST(Replay, ABucketSizeBalancesCallsAgainstOverlap) {
  // Calls that cost nothing: the smallest buckets. Calls that cost more than everything else: one bucket.
  StepTimeline timeline = layers(8);
  for (StepPart& part : timeline.parts) part.gradient_bytes *= 4000;
  EXPECT_EQ(best_bucket_size(timeline, two_ranks(1e-5)), 64 << 10);
  EXPECT_EQ(best_bucket_size(timeline, two_ranks(1e-9, 100)), timeline.gradient_bytes());
}

TEST(Replay, AFasterDeviceLeavesLessToHideBehind) {
  const StepTimeline fast = scaled(layers(8), 0.1);
  EXPECT_DOUBLE_EQ(fast.seconds(), 0.95);
  EXPECT_LT(replay(fast, two_ranks(0.0025), each(8)).hidden_share(), 0.5);
}

}  // namespace
}  // namespace ridgeline::comm
