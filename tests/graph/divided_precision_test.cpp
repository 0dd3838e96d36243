// Types that the user chose by an op's name apply to all copies of it that passes make, and ops of other ranks are not
// reported as missing.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/pass/in_parts.h"
#include "ridgeline/graph/pass/passes.h"

namespace ridgeline {
namespace {

constexpr const char* kStep = R"(graph @step(%x: f32[2,6], %w: param f32[4,6], %v: param f32[3,4], %rate: state f32[]) {
  %0 = dense(%x, %w) {stage=0} : f32[2,4] name "fc1"
  %1 = relu(%0) : f32[2,4] name "relu1"
  %2 = dense(%1, %v) {stage=1} : f32[2,3] name "fc2"
  %3 = abs(%2) : f32[2,3] name "size"
  %4 = reduce_sum(%3) : f32[] name "loss"
  %5 = dense_bwd_data(%2, %v) : grad f32[2,4] name "fc2/grad"
  %6 = dense_bwd_weights(%1, %2) : grad f32[3,4] name "fc2/grad_1"
  %7 = dense_bwd_weights(%x, %5) : grad f32[4,6] name "fc1/grad"
  %8 = sgd(%v, %6, %rate) : f32[3,4]
  %9 = sgd(%w, %7, %rate) : f32[4,6]
  update %v = %8
  update %w = %9
  return %4 "loss"
}
)";

// bf16, except for the ops in `names`, which stay f32.
PassContext context_with(std::vector<std::string> names, const Distribution& distribution = {}) {
  PassContext context{.fusion = {}};
  context.precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"));
  for (std::string& name : names) context.precision.overrides.push_back({true, name, DType::f32, DType::f32});
  context.distribution = distribution;
  return context;
}

// The operand type of each dense layer, by name.
std::map<std::string, DType> dense_types(const Graph& graph) {
  std::map<std::string, DType> types;
  for (const Node& node : graph.nodes) {
    if (node.op == "dense") types[node.name] = graph.value(node.inputs[0]).type.dtype;
  }
  return types;
}

using Types = std::map<std::string, DType>;

TEST(DividedPrecision, EveryMicroBatchHasTheTypesOfTheNamedOp) {
  const Distribution second{.ranks = 2, .rank = 1, .pipeline = {.stages = 2, .micro_batches = 3}};
  PassResults results;
  PassContext context = context_with({"fc2"}, second);
  EXPECT_EQ(dense_types(run_passes(parse_graph(kStep, "step"), context, results, {})),
            (Types{{"fc2", DType::f32}, {"fc2/micro_1", DType::f32}, {"fc2/micro_2", DType::f32}}));
  context = context_with({"fc2/micro_1"}, second);  // a copy, by its own name
  EXPECT_EQ(dense_types(run_passes(parse_graph(kStep, "step"), context, results, {})),
            (Types{{"fc2", DType::bf16}, {"fc2/micro_1", DType::f32}, {"fc2/micro_2", DType::bf16}}));
}

TEST(DividedPrecision, EveryPartOfABatchHasTheTypesOfTheNamedOp) {
  PassResults results;
  PassContext context = context_with({"fc2"});
  const Graph step = in_parts(parse_graph(kStep, "step"), {.parts = 2});
  EXPECT_EQ(dense_types(run_passes(step, context, results, {})),
            (Types{{"fc1", DType::bf16}, {"fc1/part1", DType::bf16}, {"fc2", DType::f32}, {"fc2/part1", DType::f32}}));
  EXPECT_EQ(results.warnings, std::vector<std::string>{});
}

TEST(DividedPrecision, WhatAnotherRankHasIsNotMissing) {
  const Distribution stages{.ranks = 2, .rank = 1, .pipeline = {.stages = 2, .micro_batches = 2}};
  const Distribution server{.ranks = 1, .rank = 1, .servers = 1, .on_servers = {"v", "w"}};
  for (const Distribution& distribution : {stages, server}) {
    PassResults results;
    PassContext context = context_with({"fc1", "fc3"}, distribution);
    context.precision.keep = {"relu1"};
    run_passes(parse_graph(kStep, "step"), context, results, {});
    ASSERT_EQ(results.warnings.size(), 1u);
    EXPECT_EQ(results.warnings[0].find("precision: graph @step has no op or scope 'fc3'"), 0u) << results.warnings[0];
  }
}

}  // namespace
}  // namespace ridgeline
