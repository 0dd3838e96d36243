// The number of launches, and the bytes that they read and write, with and without fusion.
#include <gtest/gtest.h>

#include "ridgeline/graph/ir/text.h"
#include "tests/compile/sum_of_products.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

using namespace testing;

TEST(CountLaunches, ASumOfProductsIsOneLaunchThatWritesNoIntermediate) {
  const Graph graph = parse_graph(kSum);
  Session session;
  const auto fused = compile(graph, session);
  EXPECT_EQ(fused->counts().launches, 1u);
  EXPECT_EQ(fused->counts().bytes(), 3u * 4096 + 4);
  EXPECT_EQ(fused->memory().activations, 4u) << "the sum alone";
  const auto apart = compile(graph, session, {.fusion = false});
  EXPECT_EQ(apart->counts().launches, 3u);
  EXPECT_EQ(apart->counts().bytes(), 3u * 4096 + 3u * 4096 + 4096 + 4);
  const Arguments arguments = random_arguments(graph);
  for (Program* program : {fused.get(), apart.get()}) {
    bind_inputs(graph, arguments, *program);
    ASSERT_TRUE(program->run());
  }
  expect_close(fused->output("sum"), apart->output("sum"), 1e-5, "sum");
}

TEST(CountLaunches, AreTheSameOfAPlanThatIsNotMade) {
  const Graph graph = parse_graph(kSum);
  Session session;
  for (const bool fusion : {true, false}) {
    const LaunchCounts made = compile(graph, session, {.fusion = fusion})->counts();
    const LaunchCounts planned = count_launches(graph, session, {.fusion = fusion});
    EXPECT_EQ(made.launches, planned.launches);
    EXPECT_EQ(made.bytes(), planned.bytes());
  }
}

// An op that reads an operand twice reads its memory once.
TEST(CountLaunches, CountAnOperandOnceALaunch) {
  const Graph graph = parse_graph("graph @square(%x: f32[64]) {\n  %0 = mul(%x, %x) : f32[64]\n  return %0 \"y\"\n}\n");
  Session session;
  EXPECT_EQ(compile(graph, session)->counts().bytes(), 2u * 256);
}

}  // namespace
}  // namespace ridgeline
