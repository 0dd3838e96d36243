// The explanation of a step's time: limits, gaps between launches, kinds of ops.
#include "ridgeline/compile/run/measure.h"

#include "ridgeline/graph/ir/text.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

using namespace testing;

constexpr DeviceRates kLimits{.f32_flops = 100e9, .bf16_flops = 1000e9, .memory_bytes = 10e9};

LaunchReport launch(const std::string& op, double started, double milliseconds, double flops, double bytes) {
  LaunchReport l;
  l.op = op;
  l.node = op + "_node";
  l.ran = true;
  l.started = started;
  l.milliseconds = milliseconds;
  l.cost = {flops, bytes};
  l.flops_done = flops;
  return l;
}

TEST(Measure, ALaunchIsBoundByWhatItsKernelDoesOrByItsBytes) {
  LaunchReport l = launch("conv2d", 0, 5, 200e6, 1e6);
  EXPECT_DOUBLE_EQ(milliseconds_at_limit(l, kLimits), 2);
  l.flops_done = 50e6;  // an algorithm with fewer multiplications
  EXPECT_DOUBLE_EQ(milliseconds_at_limit(l, kLimits), 0.5);
  l.cost.bytes = 40e6;
  EXPECT_DOUBLE_EQ(milliseconds_at_limit(l, kLimits), 4);
  l.cost.bytes = 0;
  l.products = DType::bf16;
  EXPECT_DOUBLE_EQ(milliseconds_at_limit(l, kLimits), 0.05);
}

TEST(Measure, GapsAreTheTimesInWhichNoLaunchRan) {
  std::vector<LaunchReport> launches = {launch("a", 1, 2, 0, 0), launch("b", 3.5, 3, 0, 0), launch("c", 0, 0, 0, 0),
                                        launch("d", 4, 1, 0, 0), launch("e", 7, 1, 0, 0)};
  launches[2].ran = false;  // a derived form that was still valid
  // d ran at the same time as b.
  EXPECT_EQ(gaps_before(launches), (std::vector<double>{1, 0.5, 0, 0, 0.5}));
  std::swap(launches[1], launches[3]);
  EXPECT_EQ(gaps_before(launches), (std::vector<double>{1, 0, 0, 0.5, 0.5})) << "the plan's order is not that of time";
}

TEST(Measure, PartsAreSortedByTheirDistanceFromTheLimit) {
  std::vector<LaunchReport> launches = {launch("relu", 0, 1, 0, 9e6), launch("conv2d", 1, 4, 100e6, 0),
                                        launch("conv2d", 5, 6, 100e6, 0), launch("relu", 11, 1, 0, 9e6),
                                        launch("sgd", 12, 1, 0, 0)};
  launches[2].node = "far";
  launches[2].flops_done = 50e6;
  launches[4].ran = false;
  LaunchReport copy = launch("conv2d", 12, 2, 0, 1e6);
  copy.converts = true;
  launches.push_back(copy);
  const std::vector<StepPart> parts = parts_of(launches, kLimits);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].op, "conv2d");
  EXPECT_EQ(parts[0].launches, 2);
  EXPECT_DOUBLE_EQ(parts[0].milliseconds, 10);
  EXPECT_DOUBLE_EQ(parts[0].at_limit, 1.5);
  EXPECT_DOUBLE_EQ(parts[0].gflop, 0.2);
  EXPECT_DOUBLE_EQ(parts[0].gflop_done, 0.15);
  EXPECT_EQ(parts[0].longest, "far");
  EXPECT_EQ(parts[1].op, "conversions");
  EXPECT_EQ(parts[2].op, "relu");
  EXPECT_DOUBLE_EQ(parts[2].gap(), 0.2);
}

const char* kConvolution =
    "graph @layer(%x: f32[2,16,16,64], %w: param f32[64,3,3,64]) {\n"
    "  %0 = conv2d(%x, %w) {pad=[1,1,1,1]} : f32[2,16,16,64]\n"
    "  %1 = reduce_sum(%0) : f32[]\n"
    "  return %1 \"sum\"\n"
    "}\n";

TEST(Measure, AProfiledRunTellsWhenEachLaunchRanAndWhatItDid) {
  const Graph graph = parse_graph(kConvolution);
  Session session;
  const Arguments arguments = random_arguments(graph);
  store_arguments(graph, arguments, session);
  const auto program = compile(graph, session);
  bind_inputs(graph, arguments, *program);
  program->set_profiling(true);
  ASSERT_TRUE(program->run());
  double end = 0;
  bool convolved = false;
  for (const LaunchReport& l : program->launches()) {
    ASSERT_TRUE(l.ran);
    EXPECT_GE(l.started, end) << l.node << ": launches run one after the other";
    end = l.started + l.milliseconds;
    EXPECT_EQ(l.products, DType::f32);
    if (l.op != "conv2d" || l.converts) continue;
    convolved = true;
    const bool winograd = l.kernel.find("winograd") != std::string::npos;
    EXPECT_EQ(l.flops_done < l.cost.flops, winograd) << l.kernel;
    EXPECT_GT(l.flops_done, l.cost.flops / 10);
  }
  EXPECT_TRUE(convolved);
}

TEST(Measure, ABf16LayerIsHeldToTheRateAtWhichItsKernelMultiplies) {
  const Graph graph = parse_graph(kConvolution);
  Session session;
  store_arguments(graph, random_arguments(graph), session);
  const auto program =
      compile(graph, session, {.precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"))});
  bool convolved = false;
  for (const LaunchReport& l : program->launches()) {
    const bool tiles = l.kernel.ends_with(" amx") || l.kernel.ends_with(" bf16 dots");
    const bool library = l.kernel.starts_with("onednn") && l.op == "conv2d" && !l.converts;
    EXPECT_EQ(l.products == DType::bf16, tiles || library) << l.kernel << " reads bf16 and may compute in f32";
    convolved = convolved || (l.op == "conv2d" && !l.converts);
  }
  EXPECT_TRUE(convolved);
}

}  // namespace
}  // namespace ridgeline
