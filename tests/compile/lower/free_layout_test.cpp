// Layouts of activations: a kernel may choose the layout of a result if the request allows it and all readers of the
// result accept it.
#include <gtest/gtest.h>

#include "ridgeline/compile/lower/plan_text.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/compile/list_device.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

using namespace testing;

SessionOptions pools() {
  return on_list_device({{"max_pool", "backwards", Provider::own, make_backwards_max_pool},
                         {"avg_pool", "either", Provider::own, make_either_avg_pool}});
}

// The body comes after %0, %1 = max_pool(%x).
Graph pooled(const std::string& body) {
  return parse_graph(
      "graph @pooled(%x: f32[1,2,2,3]) {\n"
      "  %0, %1 = max_pool(%x) {kernel=[1,1], stride=[1,1]} : f32[1,2,2,3], u8[1,2,2,3]\n" +
      body + "}\n");
}

const std::string kAverage = "= avg_pool(%0) {kernel=[1,1], stride=[1,1]} : f32[1,2,2,3]\n";

std::vector<std::string> kernels_of(const Program& program) {
  std::vector<std::string> names;
  for (const LaunchReport& launch : program.launches()) names.push_back(launch.kernel);
  return names;
}

std::vector<std::string> kernels_for(const Graph& graph) {
  Session session(pools());
  expect_equals_reference(graph, session);
  Session again(pools());
  return kernels_of(*compile(graph, again));
}

using Names = std::vector<std::string>;

TEST(FreeLayout, StandsWhereEveryReaderTakesIt) {
  EXPECT_EQ(kernels_for(pooled("  %2 " + kAverage + "  return %2 \"y\"\n")),
            (Names{"backwards max_pool", "either avg_pool"}));
  EXPECT_EQ(kernels_for(pooled("  %2 " + kAverage + "  %3 " + kAverage + "  %4 = add(%2, %3) : f32[1,2,2,3]\n" +
                               "  return %4 \"y\"\n")),
            (Names{"backwards max_pool", "either avg_pool", "reference add"}));
}

TEST(FreeLayout, IsTakenBackWhereOneReaderWantsPlainRows) {
  EXPECT_EQ(kernels_for(pooled("  %2 " + kAverage + "  %3 = exp(%0) : f32[1,2,2,3]\n  return %2 \"y\", %3 \"z\"\n")),
            (Names{"reference max_pool", "either avg_pool", "reference exp"}));
}

TEST(FreeLayout, IsNotOfferedForWhatIsReturnedViewedOrUpdated) {
  EXPECT_EQ(kernels_for(pooled("  %2 " + kAverage + "  return %2 \"y\", %0 \"z\"\n"))[0], "reference max_pool");
  EXPECT_EQ(kernels_for(pooled("  %2 = reshape(%0) {shape=[12]} : f32[12]\n  %3 " + kAverage +
                               "  return %2 \"y\", %3 \"z\"\n"))[0],
            "reference max_pool");
  const Graph updating = parse_graph(
      "graph @updating(%x: f32[1,2,2,3], %s: state f32[1,2,2,3]) {\n"
      "  %0, %1 = max_pool(%x) {kernel=[1,1], stride=[1,1]} : f32[1,2,2,3], u8[1,2,2,3]\n"
      "  %2 " +
      kAverage + "  update %s = %0\n  return %2 \"y\"\n}\n");
  EXPECT_EQ(kernels_for(updating)[0], "reference max_pool");
}

}  // namespace
}  // namespace ridgeline
