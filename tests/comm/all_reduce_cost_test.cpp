#include "ridgeline/comm/model/all_reduce_cost.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/error_of.h"

namespace ridgeline::comm {
namespace {

Cluster cluster(int nodes, int ranks_per_node, Link inside, Link between, double call = 0) {
  return {.nodes = nodes, .ranks_per_node = ranks_per_node, .inside = inside, .between = between, .call_seconds = call};
}

constexpr Link kFast{100e9, 2e-6}, kSlow{10e9, 20e-6};
constexpr double kBytes = 1e9;

TEST(AllReduceCost, ARingSendsTwiceAllButOnePart) {
  // Two ranks: each sends half of the bytes twice.
  EXPECT_DOUBLE_EQ(ring_seconds(cluster(1, 2, kFast, kSlow), kBytes), 2 * 2e-6 + 1e9 / 100e9);
  // Eight: 14 steps, 14/8 of the bytes.
  EXPECT_DOUBLE_EQ(ring_seconds(cluster(1, 8, kFast, kSlow), kBytes), 14 * 2e-6 + 1.75 * 1e9 / 100e9);
  // On 4 nodes of 2: 8 of the 14 steps use the network, which limits the speed.
  EXPECT_DOUBLE_EQ(ring_seconds(cluster(4, 2, kFast, kSlow), kBytes), 6 * 2e-6 + 8 * 20e-6 + 1.75 * 1e9 / 10e9);
  // One rank per node: only the network.
  EXPECT_DOUBLE_EQ(ring_seconds(cluster(4, 1, kFast, kSlow), kBytes), 6 * 20e-6 + 1.5 * 1e9 / 10e9);
  // For many ranks, it approaches twice the bytes.
  EXPECT_NEAR(ring_seconds(cluster(1, 100'000, {100e9, 0}, kSlow), kBytes), 2 * 1e9 / 100e9, 1e-6);
}

TEST(AllReduceCost, ATreeHasLevelsInsteadOfSteps) {
  EXPECT_DOUBLE_EQ(double_tree_seconds(cluster(1024, 1, kFast, kSlow), kBytes), 2 * 10 * 20e-6 + 2 * 1e9 / 10e9);
  EXPECT_DOUBLE_EQ(double_tree_seconds(cluster(5, 1, kFast, kSlow), 0), 2 * 3 * 20e-6) << "a level that is not full";
  EXPECT_DOUBLE_EQ(double_tree_seconds(cluster(1, 8, kFast, kSlow), kBytes), 14 * 2e-6 + 2 * 1e9 / 100e9);
  EXPECT_EQ(double_tree_seconds(cluster(1, 1, kFast, kSlow), kBytes), 0);
}

TEST(AllReduceCost, ByNodeIsARingInsideAndARingBetween) {
  const Cluster both = cluster(4, 8, kFast, kSlow);
  EXPECT_DOUBLE_EQ(by_node_seconds(both, kBytes), ring_seconds(cluster(1, 8, kFast, kSlow), kBytes) +
                                                      ring_seconds(cluster(4, 1, kFast, kSlow), kBytes));
  EXPECT_DOUBLE_EQ(by_node_seconds(cluster(1, 8, kFast, kSlow), kBytes),
                   ring_seconds(cluster(1, 8, kFast, kSlow), kBytes));
  EXPECT_DOUBLE_EQ(by_node_seconds(cluster(8, 1, kFast, kSlow), kBytes),
                   ring_seconds(cluster(8, 1, kFast, kSlow), kBytes));
}

TEST(AllReduceCost, TheFastestIsTaken) {
  const Cluster many = cluster(1024, 8, kFast, kSlow, 1e-6);
  EXPECT_EQ(all_reduce_cost(many, 1000).algorithm, ReduceAlgorithm::double_tree) << "few bytes: latency counts";
  EXPECT_EQ(all_reduce_cost(cluster(2, 2, kFast, kSlow), 1e10).algorithm, ReduceAlgorithm::by_node);
  EXPECT_EQ(all_reduce_cost(cluster(1, 8, kFast, kSlow), 1e10).algorithm, ReduceAlgorithm::ring);
  for (const double bytes : {1.0, 1e5, 1e9})
    EXPECT_DOUBLE_EQ(
        all_reduce_cost(many, bytes).seconds,
        1e-6 + std::min({ring_seconds(many, bytes), double_tree_seconds(many, bytes), by_node_seconds(many, bytes)}));
  EXPECT_EQ(all_reduce_cost(cluster(1, 1, kFast, kSlow, 1), kBytes).seconds, 0) << "one rank has nobody to wait for";
}

TEST(AllReduceCost, ClustersAreFoundByName) {
  EXPECT_EQ(cluster_named("h200x8").ranks(), 8);
  EXPECT_EQ(cluster_named("h200x8_ib_1024").ranks(), 8192);
  for (const Cluster& c : cluster_table()) {
    EXPECT_FALSE(c.source.empty()) << c.name;
    EXPECT_GT(all_reduce_cost(c, 1e6).seconds, 0) << c.name;
  }
  EXPECT_NE(error_of([] { cluster_named("h100"); }).find("unknown cluster 'h100' (allowed: h200x8, "),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline::comm
