// Values that depend only on stored values: computed once after loading, and again when a stored value has changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "ridgeline/compile/lower/constant_values.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

using namespace testing;

const char* kEvaluate =
    "graph @evaluate(%x: f32[2,9,9,16], %w: param f32[32,3,3,16], %g: param f32[32], %b: param f32[32], %m: state "
    "f32[32], %v: state f32[32], %r: f32[2,7,7,32]) {\n"
    "  %0 = conv2d(%x, %w) : f32[2,7,7,32]\n"
    "  %1 = batch_norm_eval(%0, %g, %b, %m, %v) : f32[2,7,7,32]\n"
    "  %2 = add(%1, %r) : f32[2,7,7,32]\n"
    "  %3 = relu(%2) : f32[2,7,7,32]\n"
    "  return %3 \"y\"\n"
    "}\n";

struct Evaluation {
  Graph graph = parse_graph(kEvaluate);
  Arguments arguments = random_arguments(graph);
  Session session;
  std::unique_ptr<Program> program;

  explicit Evaluation(const CompileOptions& options = {}) {
    for (float& v : std::span(arguments.at("v").data<float>(), 32)) v = 0.5f + v * v;
    program = compile(graph, session, options);
    store_arguments(graph, arguments, session);
    bind_inputs(graph, arguments, *program);
  }
  void expect_result() {
    const std::vector<Tensor> expected = evaluate_returns(graph, arguments);
    ASSERT_TRUE(program->run());
    expect_close(program->output("y"), expected[0], 1e-4, "y");
  }
  void set(const std::string& name, float factor) {
    for (float& v :
         std::span(arguments.at(name).data<float>(), static_cast<std::size_t>(arguments.at(name).elements())))
      v *= factor;
    session.parameters().set(name, arguments.at(name), session.parameters().entry(name).kind);
  }
  // How often the launches of batch norm ops ran; all of them equally often.
  std::int64_t folded() const {
    std::int64_t runs = -1;
    for (const LaunchReport& launch : program->launches()) {
      if (!launch.node.starts_with("batch_norm_eval/")) continue;
      EXPECT_TRUE(runs < 0 || runs == launch.runs) << launch.node;
      runs = launch.runs;
    }
    return runs;
  }
};

TEST(ConstantValues, AFoldedBatchNormIsMadeOnceALoad) {
  Evaluation evaluation;
  for (int batch = 0; batch < 3; ++batch) evaluation.expect_result();
  EXPECT_EQ(evaluation.folded(), 1);
  for (const LaunchReport& launch : evaluation.program->launches()) EXPECT_NE(launch.op, "batch_norm_eval");
}

TEST(ConstantValues, ANewValueOfAnySourceMakesThemAgain) {
  Evaluation evaluation;
  evaluation.expect_result();
  std::int64_t made = 1;
  for (const char* name : {"w", "g", "b", "m", "v"}) {
    SCOPED_TRACE(name);
    evaluation.set(name, 1.5f);
    evaluation.expect_result();
    evaluation.expect_result();
    EXPECT_EQ(evaluation.folded(), ++made);
  }
}

TEST(ConstantValues, WithoutReuseOfMemoryTheyAreTheSame) {
  Evaluation shared, apart({.reuse_memory = false});
  shared.expect_result();
  apart.expect_result();
  const Tensor y = shared.program->output("y");
  EXPECT_EQ(std::memcmp(y.raw(), apart.program->output("y").raw(), y.byte_size()), 0);
}

TEST(ConstantValues, WhatTheGraphChangesOrReturnsIsNone) {
  const Graph graph = parse_graph(
      "graph @step(%w: param f32[4], %c: param f32[4]) {\n"
      "  %0 = exp(%w) : f32[4]\n"
      "  %1 = exp(%c) : f32[4]\n"
      "  %2 = add(%0, %1) : f32[4]\n"
      "  %3 = sqrt(%1) : f32[4]\n"
      "  update %w = %2\n"
      "  return %3\n"
      "}\n");
  const ConstantValues constants = constant_values(graph);
  EXPECT_EQ(constants.sources, std::vector<std::string>{"c"});
  EXPECT_EQ(std::count(constants.values.begin(), constants.values.end(), true), 1) << "the square root is returned";
}

TEST(ConstantValues, TheirMemoryIsReportedAsDerived) {
  Evaluation folded, apart({.fusion = false});
  EXPECT_GE(folded.program->memory().derived, apart.program->memory().derived + 32 * 9 * 16 * sizeof(float));
}

}  // namespace
}  // namespace ridgeline
