// A fused op for which the device has no kernel except the reference is split again; what then still uses the reference
// is reported.
#include <gtest/gtest.h>

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/compile/list_device.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

using namespace testing;

const char* kLayer =
    "graph @layer(%x: f32[3,4], %w: param f32[5,4]) {\n"
    "  %0 = dense(%x, %w) : f32[3,5]\n"
    "  %1 = relu(%0) : f32[3,5]\n"
    "  return %1 \"y\"\n"
    "}\n";
const char* kSum =
    "graph @sum(%x: f32[64], %y: f32[64]) {\n"
    "  %0 = mul(%x, %y) : f32[64]\n"
    "  %1 = exp(%0) : f32[64]\n"
    "  %2 = reduce_sum(%1) : f32[]\n"
    "  return %2 \"y\"\n"
    "}\n";

std::vector<std::string> ops_of(const Graph& graph, const SessionOptions& options) {
  Session session(options);
  expect_equals_reference(graph, session);
  Session again(options);
  std::vector<std::string> ops;
  const auto program = compile(graph, again);
  for (const Node& node : program->graph().nodes) ops.push_back(node.op);
  return ops;
}

using Names = std::vector<std::string>;

TEST(SplitFusion, AnEpilogueThatNoKernelTakesIsAnOpOfItsOwnAgain) {
  const KernelEntry plain{"dense", "columns", Provider::own, make_columns_dense};  // refuses an activation
  EXPECT_EQ(ops_of(parse_graph(kLayer), on_list_device({plain}, reference_fusion_limits())), (Names{"dense", "relu"}));
  EXPECT_EQ(ops_of(parse_graph(kLayer), on_list_device({}, reference_fusion_limits())), Names{"dense"})
      << "where the reference is all there is, it takes the fused op as well";
  EXPECT_EQ(ops_of(parse_graph(kLayer), on_list_device({plain})), (Names{"dense", "relu"}))
      << "a device without fusion";
}

TEST(SplitFusion, ALoopThatNoKernelTakesIsItsMembersAgain) {
  const KernelEntry never{"loop", "never", Provider::own, make_never};
  EXPECT_EQ(ops_of(parse_graph(kSum), on_list_device({never}, reference_fusion_limits())),
            (Names{"mul", "exp", "reduce_sum"}));
  EXPECT_EQ(ops_of(parse_graph(kSum), on_list_device({}, reference_fusion_limits())), Names{"loop"});
}

// Each round of compilation removes the last op from a refused loop; a long loop is split completely before that takes
// as many rounds as it has ops.
TEST(SplitFusion, ALongChainCompilesWhereNoKernelTakesLoops) {
  constexpr int kOps = 320;
  std::string text = "graph @chain(%x: f32[8]) {\n  %0 = tanh(%x) : f32[8]\n";
  for (int i = 1; i < kOps; ++i) {
    const char* op = i % 2 == 0 ? "tanh" : "exp";
    text += "  %" + std::to_string(i) + " = " + op + "(%" + std::to_string(i - 1) + ") : f32[8]\n";
  }
  const Graph graph = parse_graph(text + "  return %" + std::to_string(kOps - 1) + " \"y\"\n}\n");
  SessionOptions lacking{.device = "simulated"};
  lacking.simulated.missing_ops = {"loop"};
  const KernelEntry never{"loop", "never", Provider::own, make_never};
  for (const SessionOptions& options : {on_list_device({never}, reference_fusion_limits()), lacking}) {
    const Names ops = ops_of(graph, options);
    EXPECT_EQ(ops.size(), static_cast<std::size_t>(kOps));
    EXPECT_EQ(std::count(ops.begin(), ops.end(), "loop"), 0);
  }
}

TEST(SplitFusion, ALoopThatTheUserWroteStaysOne) {
  const KernelEntry never{"loop", "never", Provider::own, make_never};
  const Graph written =
      parse_graph("graph @written(%x: f32[8]) {\n  %0 = loop(%x) { exp(x0) } : f32[8]\n  return %0 \"y\"\n}\n");
  EXPECT_EQ(ops_of(written, on_list_device({never}, reference_fusion_limits())), Names{"loop"});
}

TEST(SplitFusion, WhereTheDeviceLacksTheFusedOpItsPartsArePlacedOneByOne) {
  SessionOptions options;
  options.device = "simulated";
  options.simulated.missing_ops = {"loop", "exp"};
  Session session(options);
  const Graph graph = parse_graph(kSum);
  expect_equals_reference(graph, session);
  Session again(options);
  const auto program = compile(graph, again);
  std::vector<std::string> places;
  for (const LaunchReport& launch : program->launches()) {
    if (launch.kernel != "copy") places.push_back(launch.op + " " + launch.device);
  }
  EXPECT_EQ(places, (Names{"mul simulated", "exp cpu", "reduce_sum simulated"}));
  ASSERT_EQ(program->warnings().size(), 1u);
  EXPECT_EQ(program->warnings()[0], "device simulated has no kernel for these ops, so they run on cpu: exp");
}

TEST(SplitFusion, MuchWorkOnTheReferenceIsAWarningWithTheReasons) {
  const KernelEntry never{"dense", "never", Provider::own, make_never};
  const auto warnings = [&](std::int64_t rows) {
    const std::string n = std::to_string(rows);
    Session session(on_list_device({never}));
    return compile(
               parse_graph("graph @big(%x: f32[" + n + ",100], %w: param f32[100,100]) {\n  %0 = dense(%x, %w) : f32[" +
                           n + ",100]\n  return %0 \"y\"\n}\n"),
               session)
        ->warnings();
  };
  EXPECT_EQ(warnings(4), Names{});
  EXPECT_EQ(warnings(400), Names{"op dense (dense) runs on the slow reference kernel: never: it takes nothing"});
}

}  // namespace
}  // namespace ridgeline
