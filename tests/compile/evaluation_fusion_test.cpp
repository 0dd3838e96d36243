// Fusion in an evaluation: residual sums in dense layers and convolutions, batch norm folded into bf16 weights.
#include <gtest/gtest.h>

#include <cmath>

#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/pass/passes.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

using namespace testing;

std::vector<std::string> ops_of(const Program& program) {
  std::vector<std::string> ops;
  for (const Node& node : program.graph().nodes) ops.push_back(node.op);
  return ops;
}

using Names = std::vector<std::string>;

TEST(EvaluationFusion, AResidualDenseLayerIsOneLaunch) {
  const Graph graph = parse_graph(
      "graph @block(%x: f32[5,48], %w: param f32[48,48], %b: param f32[48]) {\n"
      "  %0 = dense(%x, %w, %b) : f32[5,48]\n"
      "  %1 = add(%0, %x) : f32[5,48]\n"
      "  %2 = relu(%1) : f32[5,48]\n"
      "  return %2 \"y\"\n"
      "}\n");
  Session session;
  expect_equals_reference(graph, session);
  EXPECT_EQ(ops_of(*compile(graph, session)), Names{"dense"});
  const LaunchCounts fused = compile(graph, session)->counts();
  const LaunchCounts apart = compile(graph, session, {.disabled_passes = {"fuse_addend"}})->counts();
  EXPECT_EQ(fused.launches + 1, apart.launches);
  // The result of the layer is neither written nor read, and x, which is an operand twice, is read once.
  EXPECT_EQ(fused.bytes() + 3 * 5 * 48 * sizeof(float), apart.bytes());
}

const char* kNet =
    "graph @net(%x: f32[2,12,12,24], %w: param f32[24,3,3,24], %b: param f32[24], %u: param f32[24,1,1,24], "
    "%g: param f32[24], %h: param f32[24], %m: state f32[24], %v: state f32[24]) {\n"
    "  %0 = conv2d(%x, %w, %b) {pad=[1,1,1,1]} : f32[2,12,12,24]\n"
    "  %1 = batch_norm_eval(%0, %g, %h, %m, %v) : f32[2,12,12,24]\n"
    "  %2 = relu(%1) : f32[2,12,12,24]\n"
    "  %3 = conv2d(%2, %u) : f32[2,12,12,24]\n"
    "  %4 = batch_norm_eval(%3, %g, %h, %m, %v) : f32[2,12,12,24]\n"
    "  %5 = add(%4, %2) : f32[2,12,12,24]\n"
    "  %6 = relu(%5) : f32[2,12,12,24]\n"
    "  return %6 \"y\"\n"
    "}\n";

struct Bf16Net {
  Graph graph = parse_graph(kNet);
  Arguments arguments = random_arguments(graph);
  Session session;
  std::unique_ptr<Program> program;

  // Statistics like those of a trained network: scales that differ by a factor of about ten.
  explicit Bf16Net(const std::vector<std::string>& disabled) {
    for (const char* name : {"g", "v"}) {
      Tensor& t = arguments[name];
      for (std::int64_t i = 0; i < t.elements(); ++i) t.set(i, std::exp(2 * t.at(i)));
    }
    store_arguments(graph, arguments, session);
    program = compile(graph, session,
                      {.disabled_passes = disabled,
                       .precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"))});
    bind_inputs(graph, arguments, *program);
  }
  // The root mean square of the distance from the f32 graph, relative to that of its values.
  double error() {
    const Tensor expected = evaluate_returns(graph, arguments)[0];
    EXPECT_TRUE(program->run());
    const Tensor got = program->output("y");
    double distance = 0, scale = 0;
    for (std::int64_t i = 0; i < got.elements(); ++i) {
      distance += (got.at(i) - expected.at(i)) * (got.at(i) - expected.at(i));
      scale += expected.at(i) * expected.at(i);
    }
    return std::sqrt(distance / scale);
  }
};

TEST(EvaluationFusion, BatchNormInBf16WeightsIsNoLessExactThanBehindThem) {
  Bf16Net folded({}), apart({"fold_norm"});
  const double with = folded.error(), without = apart.error();
  RecordProperty("folded", std::to_string(with));
  RecordProperty("apart", std::to_string(without));
  EXPECT_LT(with, 0x1p-8) << "a rounding to bf16";
  EXPECT_LE(with, 1.1 * without);
  std::size_t norms = 0;
  for (const std::string& op : ops_of(*apart.program)) norms += op == "batch_norm_eval";
  EXPECT_EQ(norms, 2u);
  for (const std::string& op : ops_of(*folded.program)) EXPECT_NE(op, "batch_norm_eval");
}

TEST(EvaluationFusion, FoldedBf16WeightsAreMadeOnceALoad) {
  Bf16Net net({});
  for (int batch = 0; batch < 3; ++batch) ASSERT_TRUE(net.program->run());
  std::size_t folds = 0;
  for (const LaunchReport& launch : net.program->launches()) {
    if (!launch.node.starts_with("batch_norm_eval")) continue;
    ++folds;
    EXPECT_EQ(launch.runs, 1) << launch.node << " " << launch.kernel;
  }
  EXPECT_GE(folds, 4u) << "two weights, each scaled and rounded";
  Tensor& scale = net.arguments["g"];
  for (std::int64_t i = 0; i < scale.elements(); ++i) scale.set(i, 2 * scale.at(i));
  net.session.parameters().set("g", scale, ValueKind::param);
  EXPECT_LT(net.error(), 0x1p-8) << "another scale makes them again";
}

}  // namespace
}  // namespace ridgeline
