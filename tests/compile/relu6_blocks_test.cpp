// Batch norms with relu6 in steps of random inverted residual blocks.
#include "tests/compile/relu6_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ridgeline/graph/ir/text.h"
#include "tests/compile/random_check.h"
#include "tests/compile/support.h"
#include "tests/support/environment.h"

namespace ridgeline {
namespace {

using testing::GraphCase;
using testing::Setting;

std::int64_t ops_named(const Graph& graph, const std::string& op) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op == op; });
}

TEST(Relu6Blocks, GiveTheReferencesResultsAndGradientsOnEveryDevice) {
  const std::int64_t count = number_from_environment("RIDGELINE_RANDOM_GRAPHS", 24);
  for (std::int64_t seed = 0; seed < count; ++seed) {
    const GraphCase blocks = testing::relu6_blocks(static_cast<std::uint64_t>(seed));
    Setting setting;
    setting.device = std::vector<std::string>{"cpu", "cpu", "list", "simulated"}[static_cast<std::size_t>(seed % 4)];
    setting.options.verify = true;
    if (seed % 3 == 1) setting.options.disabled_passes = {"fuse_norm_gradient"};
    if (seed % 3 == 2) setting.options.disabled_passes = {"fuse_epilogue"};
    EXPECT_EQ(testing::difference(blocks, false, setting), "") << "seed " << seed << " " << to_string(setting) << "\n"
                                                               << to_text(blocks.graph, {.locations = false});
  }
}

// The returned values of two steps of the seed's blocks.
std::vector<Tensor> results_of(std::int64_t seed, const char* precision, const std::vector<std::string>& disabled,
                               Graph* compiled = nullptr) {
  const GraphCase blocks = testing::relu6_blocks(static_cast<std::uint64_t>(seed));
  Session session;
  testing::store_arguments(blocks.graph, blocks.arguments, session);
  const auto program =
      compile(blocks.graph, session,
              {.disabled_passes = disabled, .precision = PrecisionPolicy::of(precision_mode_named(precision))});
  if (compiled != nullptr) *compiled = program->graph();
  std::vector<Tensor> results;
  for (int step = 0; step < 2; ++step) {
    testing::bind_inputs(blocks.graph, blocks.arguments, *program);
    EXPECT_TRUE(program->run());
    for (std::size_t r = 0; r < blocks.graph.returns.size(); ++r) results.push_back(program->output(r).clone());
  }
  return results;
}

TEST(Relu6Blocks, OnTheCpuMergedNormsGiveTheBitsOfTheOpsApart) {
  std::int64_t merged = 0;
  for (std::int64_t seed = 100; seed < 110; ++seed) {
    for (const char* precision : {"must_keep_origin_dtype", "allow_mix_precision_bf16"}) {
      Graph whole, apart;
      const auto a = results_of(seed, precision, {"fuse_addend"}, &whole);
      const auto b = results_of(seed, precision, {"fuse_addend", "fuse_epilogue", "fuse_norm_gradient"}, &apart);
      EXPECT_EQ(ops_named(whole, "relu6") + ops_named(whole, "relu6_grad"), 0) << seed;
      EXPECT_GE(ops_named(apart, "relu6"), 2) << seed;
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_EQ(std::memcmp(a[i].raw(), b[i].raw(), a[i].byte_size()), 0) << seed << " " << precision << " " << i;
      ++merged;
    }
  }
  EXPECT_EQ(merged, 20);
}

}  // namespace
}  // namespace ridgeline
