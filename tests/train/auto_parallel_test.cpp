// "One weird trick for parallelizing convolutional neural networks" (Krizhevsky, 2014), found by cost.
#include <gtest/gtest.h>

#include <thread>

#include "ridgeline/comm/model/all_reduce_cost.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/pass/inline.h"
#include "ridgeline/graph/pass/shard_plan.h"
#include "ridgeline/graph/pass/step_price.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/parallel_estimate.h"
#include "ridgeline/train/rank_rates.h"
#include "tests/comm/ranks.h"

namespace ridgeline::train {
namespace {

// A step of AlexNet with 128 images alone took 32 ms where it was measured last (docs/comm.md).
constexpr double kStepSeconds = 0.032;

std::string how(const ShardPlan& plan, const std::string& layer) {
  for (const ShardedLayer& divided : plan.layers) {
    if (divided.node == layer) return divided.how;
  }
  return "data";
}

TEST(AutoParallel, AlexNetOverEightRanksKeepsConvolutionsByDataAndDividesTheLargeDenseLayers) {
  for (const char* cluster : {"h200x8", "cpu_ethernet_64"}) {
    comm::Cluster eight = comm::cluster_named(cluster);
    eight.nodes = 8 / eight.ranks_per_node;
    const ShardPlan plan = estimate_shards("alexnet_torchvision", 128, kStepSeconds, eight, false);
    EXPECT_NE(how(plan, "classifier.1/dense"), "data") << plan.text;
    EXPECT_NE(how(plan, "classifier.4/dense"), "data") << plan.text;
    for (const ShardedLayer& layer : plan.layers) EXPECT_TRUE(layer.node.starts_with("classifier.")) << layer.node;
    EXPECT_LT(plan.seconds, plan.data_parallel_seconds);
    EXPECT_NE(plan.text.find("; all else data; estimated "), std::string::npos) << plan.text;
  }
}

TEST(AutoParallel, WhereEachMessageIsSlowNothingIsDivided) {
  comm::Cluster slow = comm::cluster_named("h200x8");
  slow.call_seconds = 1;
  EXPECT_TRUE(estimate_shards("alexnet_torchvision", 128, kStepSeconds, slow, true).layers.empty());
}

// What plans go by is what `ridgeline plan` says of whole gradients, which takes the faster of a ring and a tree too.
TEST(AutoParallel, AnExchangeCostsWhatTheModelOfTheClusterSays) {
  int by_tree = 0;
  for (const comm::Cluster& cluster : comm::cluster_table()) {
    SCOPED_TRACE(cluster.name);
    const RankRates rates = rates_of(cluster, {.flops = 1, .memory_bytes = 1});
    for (const std::int64_t count : {1, 10'000, 60'000'000}) {
      GraphBuilder builder("exchange");
      const Value x = builder.input("x", {DType::f32, {count}});
      builder.returns("sum", builder.apply("all_reduce", {x}, {{"ranks", std::int64_t{cluster.ranks()}}}));
      const Graph graph = builder.finish();
      const double bytes = 4.0 * static_cast<double>(count);
      const double ring = comm::ring_seconds(cluster, bytes), tree = comm::double_tree_seconds(cluster, bytes);
      EXPECT_NEAR(exchange_seconds(graph, graph.nodes.front(), rates) / (cluster.call_seconds + std::min(ring, tree)),
                  1, 1e-9)
          << count;
      by_tree += tree < ring ? 1 : 0;
    }
  }
  EXPECT_GT(by_tree, 0);
}

// Two of the team share a core with each other, and what a rank gets is less than at its best.
TEST(AutoParallel, RatesAreThoseOfRanksThatMeasureAtOnce) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  std::vector<double> flops;
  for (const int ranks : {1, 2 * cores}) {
    double measured = 0;
    comm::expect_ranks(ranks, [&](comm::Communicator& all) {
      const ComputeScope team(1);
      const RankRates rates = measure_rates(all);
      if (all.rank() == 0) measured = rates.flops;
    });
    flops.push_back(measured);
  }
  // Half a core each; a quarter of it is for what else runs here.
  EXPECT_LT(flops[1], 0.75 * flops[0]);
}

}  // namespace
}  // namespace ridgeline::train
