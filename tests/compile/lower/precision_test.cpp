// Whole steps in each precision mode: the program computes the rewritten graph and stays near the f32 step.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/pass/passes.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

using namespace testing;

// Convolution, batch norm, residual add, pooling, LRN, dropout, two dense layers, loss, gradients and updates.
const char* kStep =
    "graph @step(%x: f32[4,8,8,3], %labels: i32[4], %k: param f32[16,3,3,3], %b: param f32[16], %g: param f32[16], "
    "%h: param f32[16], %w: param f32[10,256], %rm: state f32[16], %rv: state f32[16]) {\n"
    "  %0 = conv2d(%x, %k, %b) {pad=[1,1,1,1]} : f32[4,8,8,16]\n"
    "  %1, %2, %3, %4, %5 = batch_norm_train(%0, %g, %h, %rm, %rv) : f32[4,8,8,16], f32[16], f32[16], f32[16], "
    "f32[16]\n"
    "  %6 = add(%1, %0) : f32[4,8,8,16]\n"
    "  %7 = relu(%6) : f32[4,8,8,16]\n"
    "  %8, %9 = max_pool(%7) {kernel=[2,2], stride=[2,2], pad=[0,0,0,0]} : f32[4,4,4,16], u8[4,4,4,16]\n"
    "  %10 = flatten(%8) {order=\"hwc\"} : f32[4,256]\n"
    "  %11 = dense(%10, %w) : f32[4,10]\n"
    "  %12, %13 = softmax_cross_entropy(%11, %labels) : f32[4], f32[4,10]\n"
    "  %14 = reduce_mean(%12) : f32[]\n"
    "  %15 = softmax_cross_entropy_bwd(%13, %labels, %12) : grad f32[4,10]\n"
    "  %16 = dense_bwd_weights(%10, %15) : grad f32[10,256]\n"
    "  %17 = dense_bwd_data(%15, %w) : grad f32[4,256]\n"
    "  %18 = unflatten(%17) {order=\"hwc\", shape=[4,4,4,16]} : grad f32[4,4,4,16]\n"
    "  %19 = max_pool_bwd(%18, %9) {kernel=[2,2], stride=[2,2], pad=[0,0,0,0], input=[4,8,8,16]} : grad f32[4,8,8,16]\n"
    "  %20 = relu_grad(%7, %19) : grad f32[4,8,8,16]\n"
    "  %21, %22, %23 = batch_norm_bwd(%0, %20, %g, %2, %3) : grad f32[4,8,8,16], grad f32[16], grad f32[16]\n"
    "  %24 = add(%21, %20) : grad f32[4,8,8,16]\n"
    "  %25, %26 = conv2d_bwd_weights(%x, %24) {pad=[1,1,1,1], kernel=[3,3], bias=true} : grad f32[16,3,3,3], grad "
    "f32[16]\n"
    "  %27 = constant() {value=0.05} : f32[]\n"
    "  %28 = sgd(%k, %25, %27) : f32[16,3,3,3]\n"
    "  %29 = sgd(%b, %26, %27) : f32[16]\n"
    "  %30 = sgd(%g, %22, %27) : f32[16]\n"
    "  %31 = sgd(%h, %23, %27) : f32[16]\n"
    "  %32 = sgd(%w, %16, %27) : f32[10,256]\n"
    "  update %k = %28\n"
    "  update %b = %29\n"
    "  update %g = %30\n"
    "  update %h = %31\n"
    "  update %w = %32\n"
    "  update %rm = %4\n"
    "  update %rv = %5\n"
    "  return %14 \"loss\", %11 \"logits\"\n"
    "}\n";

Arguments step_arguments(const Graph& graph) {
  Arguments arguments = random_arguments(graph);
  for (const char* positive : {"g", "rv"}) {
    Tensor& t = arguments[positive];
    for (std::int64_t i = 0; i < t.elements(); ++i) t.set(i, 1 + std::abs(t.at(i)));
  }
  return arguments;
}

// The graph after the passes, without fusion.
Graph rewritten(const Graph& graph, const PrecisionPolicy& policy) {
  PassContext context{.fusion = {}, .precision = policy};
  PassResults results;
  return run_passes(graph, context, results, fusion_passes());
}

TEST(Precision, EveryModeComputesWhatTheRewrittenGraphSays) {
  const Graph graph = parse_graph(kStep);
  const Arguments arguments = step_arguments(graph);
  for (const PrecisionMode& mode : precision_modes()) {
    for (const bool fusion : {true, false}) {
      SCOPED_TRACE(std::string(mode.name) + (fusion ? "" : " without fusion"));
      const PrecisionPolicy policy = PrecisionPolicy::of(mode);
      const Graph narrow = rewritten(graph, policy);
      const std::vector<Tensor> expected = evaluate_returns(narrow, arguments);
      const Arguments next = evaluate_updates(narrow, arguments);
      const std::vector<Tensor> wide = evaluate_returns(graph, arguments);
      Session session;
      store_arguments(graph, arguments, session);
      const auto program = compile(graph, session, {.fusion = fusion, .precision = policy});
      bind_inputs(graph, arguments, *program);
      ASSERT_TRUE(program->run());
      // A kernel may round a sum differently, which later ops amplify: a few units of bf16.
      const double tolerance = mode.rewrite == PrecisionRewrite::none ? 1e-5 : mode.low == DType::bf16 ? 0.03 : 0.004;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::string& name = graph.returns[i].name;
        EXPECT_EQ(program->output(name).dtype(), DType::f32) << "returned values keep their types";
        expect_close(program->output(name), expected[i], tolerance, name);
        expect_close(program->output(name), wide[i], 2 * tolerance, name + " against f32");
      }
      for (const auto& [name, value] : next) {
        EXPECT_EQ(session.parameters().get(name).dtype(), DType::f32) << name;
        expect_close(session.parameters().get(name), value, tolerance, name);
      }
    }
  }
}

// Loops round where separate ops would, and relu commutes with rounding.
TEST(Precision, FusionChangesNoBits) {
  const Graph graph = parse_graph(kStep);
  const Arguments arguments = step_arguments(graph);
  for (const PrecisionMode& mode : precision_modes()) {
    SCOPED_TRACE(mode.name);
    std::vector<std::vector<Tensor>> runs;
    for (const bool fusion : {true, false}) {
      Session session;
      store_arguments(graph, arguments, session);
      const auto program = compile(graph, session, {.fusion = fusion, .precision = PrecisionPolicy::of(mode)});
      bind_inputs(graph, arguments, *program);
      ASSERT_TRUE(program->run());
      std::vector<Tensor> values;
      for (const Return& r : graph.returns) values.push_back(program->output(r.name).clone());
      for (const std::string& name : session.parameters().names()) values.push_back(session.parameters().get(name));
      runs.push_back(std::move(values));
    }
    for (std::size_t i = 0; i < runs[0].size(); ++i) {
      EXPECT_EQ(std::memcmp(runs[0][i].raw(), runs[1][i].raw(), runs[0][i].byte_size()), 0) << "value " << i;
    }
  }
}

TEST(Precision, MixedModesNeedLessMemoryForValues) {
  const Graph graph = parse_graph(kStep);
  const auto peak = [&](const char* mode) {
    Session session;
    CompileOptions options;
    options.precision = PrecisionPolicy::of(precision_mode_named(mode));
    const auto program = compile(graph, session, options);
    return program->memory().activations;
  };
  EXPECT_LT(peak("allow_mix_precision_bf16"), peak("must_keep_origin_dtype") * 7 / 10);
}

TEST(Precision, WhatTheGraphDoesNotHaveIsAWarningWithTheNearestName) {
  Session session;
  CompileOptions options;
  options.precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"));
  options.precision.keep = {"conv2d", "densse", "sgd"};  // an update always keeps its types
  options.precision.overrides = {{true, "sgd_1", DType::bf16, DType::bf16}};
  const auto program = compile(parse_graph(kStep), session, options);
  std::string all;
  for (const std::string& line : program->warnings()) all += line + "\n";
  EXPECT_NE(all.find("precision: graph @step has no op or scope 'densse': did you mean 'dense'?"), std::string::npos)
      << all;
  EXPECT_EQ(all.find("'conv2d'"), std::string::npos) << all;
  EXPECT_EQ(all.find("'sgd"), std::string::npos) << all;
}

TEST(Precision, F16OnThisMachineIsAWarningThatNamesTheOps) {
  Session session;
  CompileOptions options;
  options.precision = PrecisionPolicy::of(precision_mode_named("allow_fp32_to_fp16"));
  const auto program = compile(parse_graph(kStep), session, options);
  ASSERT_EQ(program->warnings().size(), 1u);
  EXPECT_EQ(program->warnings()[0],
            "2 ops on f16 compute in f32 between conversions (the values are exact, the time is that of f32 and more): "
            "conv2d, conv2d_bwd_weights");  // dense layers of few rows read f16 directly
}

TEST(Precision, ADeviceWithoutHalfTypesStaysInF32) {
  SessionOptions where;
  where.device = "simulated";
  where.simulated.missing_dtypes = {DType::bf16, DType::f16};
  Session session(where);
  const Graph graph = parse_graph(kStep);
  CompileOptions options;
  options.precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"));
  const auto program = compile(graph, session, options);
  for (const ValueInfo& value : program->graph().values) EXPECT_NE(value.type.dtype, DType::bf16);
}

}  // namespace
}  // namespace ridgeline
