// "One weird trick for parallelizing convolutional neural networks" (Krizhevsky, 2014), found by cost.
#include <gtest/gtest.h>

#include "ridgeline/graph/pass/inline.h"
#include "ridgeline/graph/pass/shard_plan.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/parallel_estimate.h"

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

}  // namespace
}  // namespace ridgeline::train
