// The division of "One weird trick for parallelizing convolutional neural networks" (Krizhevsky, 2014), found by cost.
#include <gtest/gtest.h>

#include <array>

#include "ridgeline/comm/model/all_reduce_cost.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/cpu/measured_rate.h"
#include "ridgeline/device/devices.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/pass/inline.h"
#include "ridgeline/graph/pass/shard_plan.h"
#include "ridgeline/graph/pass/step_price.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/ranks/parallel_estimate.h"
#include "ridgeline/train/ranks/rank_rates.h"
#include "tests/comm/ranks.h"

namespace ridgeline::train {
namespace {

// A step of AlexNet with 128 images on one rank took 32 ms in the last measurement (docs/comm.md).
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

// Uses the time that `ridgeline plan` predicts for whole gradients, the faster of a ring and a tree.
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

// The typical speed of a rank under other load, and not its best.
TEST(AutoParallel, RatesAreNotThoseOfTheBestMoment) {
  static double seconds = 0;
  const device::MeasuredRate rate =
      device::measure_rate(7, 1, [](int run) { seconds += run % 2 == 0 ? 0.004 : 0.04; }, [] { return seconds; });
  EXPECT_DOUBLE_EQ(rate.best, 1 / 0.004);
  EXPECT_DOUBLE_EQ(rate.usual, 6 / (3 * 0.004 + 3 * 0.04));
}

TEST(AutoParallel, AllRanksHaveTheRatesOfTheSlowest) {
  std::array<RankRates, 2> rates;
  comm::expect_ranks(2, [&](comm::Communicator& all) {
    const ComputeScope team(1);
    rates[static_cast<std::size_t>(all.rank())] = measure_rates(all, *device_named("cpu").make());
  });
  EXPECT_TRUE(rates[0].known());
  EXPECT_EQ(rates[0].flops, rates[1].flops);
  EXPECT_EQ(rates[0].memory_bytes, rates[1].memory_bytes);
  EXPECT_EQ(rates[0].exchange_bytes, rates[1].exchange_bytes);
  EXPECT_EQ(rates[0].call_seconds, rates[1].call_seconds);
}

}  // namespace
}  // namespace ridgeline::train
