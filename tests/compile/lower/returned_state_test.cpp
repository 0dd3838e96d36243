// A step may return a parameter or state from before the step and also update it.
#include "tests/compile/support.h"

#include "ridgeline/graph/ir/text.h"

namespace ridgeline {
namespace {

const char* const kCounter =
    "graph @count(%s: state f32[5], %x: f32[5]) {\n"
    "  %0 = add(%s, %x) : f32[5]\n"
    "  update %s = %0\n"
    "  return %s \"before\"\n"
    "  return %x \"input\"\n"
    "  return %0 \"after\"\n"
    "}\n";

TEST(ReturnedState, IsUpdatedAndReturnedAsItWas) {
  for (const char* device : {"cpu", "simulated"}) {
    SessionOptions options;
    options.device = device;
    Session session(options);
    testing::expect_equals_reference(parse_graph(kCounter), session);
  }
}

TEST(ReturnedState, MovesNothingUnderAProgramThatWasCompiledBefore) {
  Session session;
  const Graph graph = parse_graph(kCounter);
  const Graph reader = parse_graph("graph @read(%s: state f32[5]) {\n  %0 = neg(%s) : f32[5]\n  return %0 \"n\"\n}\n");
  session.parameters().set("s", Tensor::of<float>({1, 2, 3, 4, 5}, {5}), ValueKind::state);
  const auto before = compile(reader, session);
  const auto counter = compile(graph, session);
  counter->bind("x", Tensor::of<float>({1, 1, 1, 1, 1}, {5}));
  ASSERT_TRUE(counter->run());
  ASSERT_TRUE(before->run());
  EXPECT_EQ(before->output("n").at(0), -2.0);
  EXPECT_EQ(session.parameters().get("s").at(4), 6.0);
}

TEST(ReturnedState, WhatAProgramReturnedStaysWhenAnotherOneUpdatesTheStore) {
  Session session;
  const Graph graph = parse_graph(kCounter);
  const Tensor one = Tensor::of<float>({1, 1, 1, 1, 1}, {5});
  const auto first = compile(graph, session);
  const auto second = compile(graph, session);
  first->bind("x", one);
  second->bind("x", one);
  ASSERT_TRUE(first->run());
  ASSERT_TRUE(second->run());
  EXPECT_EQ(first->output("before").at(0), 0.0);
  EXPECT_EQ(first->output("after").at(0), 1.0);
  EXPECT_EQ(second->output("before").at(0), 1.0);
  EXPECT_EQ(second->output("after").at(0), 2.0);
}

}  // namespace
}  // namespace ridgeline
