// Eager execution: every op runs when it is called, with the bits of the graph compiled without fusion.
#include "ridgeline/compile/run/eager.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/grad/differentiate.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/trace.h"
#include "ridgeline/graph/pass/inline.h"
#include "ridgeline/nn/eager_gradients.h"
#include "tests/compile/random_graph.h"
#include "tests/compile/support.h"
#include "tests/support/error_of.h"

namespace ridgeline {
namespace {

void expect_same_bits(const Tensor& a, const Tensor& b, const std::string& what = "") {
  ASSERT_EQ(a.dtype(), b.dtype()) << what;
  ASSERT_EQ(a.shape(), b.shape()) << what;
  EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.byte_size()), 0) << what;
}

Tensor drawn(const Shape& shape, const std::string& name) { return testing::random_tensor({DType::f32, shape}, name); }

// The results of the graph, compiled without fusion.
std::vector<Tensor> compiled(const Graph& graph, const Arguments& arguments) {
  Session session;
  const auto program = compile(graph, session, {.fusion = false});
  testing::bind_inputs(graph, arguments, *program);
  EXPECT_TRUE(program->run());
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < graph.returns.size(); ++i) values.push_back(program->output(i).clone());
  return values;
}

// The standard example of tracing: a function that calls another.
Value test_f(Value x, Value y) {
  Value a = x - 1;
  Value b = a + y;
  return b * call("func", [](Value p, Value q) { return p / q; }, a, b);
}

TEST(Eager, AFunctionThatCallsAnotherGivesTheBitsOfItsGraph) {
  const Tensor x = drawn({2, 3}, "x"), y = drawn({2, 3}, "y");
  const Graph graph = trace("test_f", {f32({2, 3}), f32({2, 3})}, test_f);
  Session session;
  Eager eager(session);
  const Tensor result = eager.run(test_f, x, y);
  expect_same_bits(result, compiled(graph, {{"x0", x}, {"x1", y}}).front());
  for (std::int64_t i = 0; i < 6; ++i) {
    const float a = static_cast<float>(x.at(i)) - 1;
    const float b = a + static_cast<float>(y.at(i));
    EXPECT_EQ(result.at(i), b * (a / b));
  }
  // The recorded graph equals the traced one.
  Graph recorded = eager.recorded();
  recorded.name = graph.name;
  recorded.returns = graph.returns;
  EXPECT_EQ(to_text(recorded, {.locations = false}), to_text(graph, {.locations = false}));
}

TEST(Eager, CompilesAnOpOnceAndDrawsTheSameNumbersAgain) {
  Session session;
  Eager eager(session);
  const Tensor x = drawn({64, 5}, "x"), step = Tensor::scalar<std::int64_t>(3);
  const auto function = [](Value v, Value n) {
    const auto drop = [&](Value u, std::int64_t key) {
      return u.builder().apply("dropout", {u, n}, {{"keep_prob", 0.5}, {"key", key}});
    };
    return drop(v + v, 1) - drop(v + v, 2);
  };
  const Tensor first = eager.run(function, x, step);
  const std::size_t programs = eager.programs();
  EXPECT_EQ(programs, 4u) << "add, two dropouts with masks of their own, sub";
  expect_same_bits(eager.run(function, x, step), first);
  EXPECT_EQ(eager.programs(), programs);
  bool differs = false;
  for (std::int64_t i = 0; i < first.elements(); ++i) differs = differs || first.at(i) != 0;
  EXPECT_TRUE(differs) << "the two masks are not the same";
  eager.run(function, drawn({32, 5}, "x"), step);
  EXPECT_GT(eager.programs(), programs) << "another shape is another program";
}

TEST(Eager, ValuesSteerTheProgramThatComputesThem) {
  Session session;
  Eager eager(session);
  Value v = eager.input(Tensor::scalar(1.0f));
  int doublings = 0;
  for (; eager.tensor(v).at(0) < 100; ++doublings) v = v * 2;
  EXPECT_EQ(doublings, 7);
  EXPECT_EQ(eager.tensor(v).at(0), 128);
}

TEST(Eager, ALayerStackGivesTheBitsOfItsGraph) {
  const auto net = [](Value x, Value w, Value b, Value dense) {
    GraphBuilder& g = x.builder();
    const std::vector<std::int64_t> two{2, 2}, pad{1, 1, 1, 1};
    Value h = g.apply("conv2d", {x, w, b}, {{"pad", pad}});
    h = g.apply("relu", {h});
    h = g.apply("avg_pool", {h}, {{"kernel", two}, {"stride", two}});
    h = g.apply("flatten", {h}, {{"order", std::string("chw")}});
    return g.apply("softmax", {g.apply("dense", {h, dense})});
  };
  const std::vector<Tensor> a{drawn({4, 12, 12, 16}, "x"), drawn({32, 3, 3, 16}, "w"), drawn({32}, "b"),
                              drawn({10, 6 * 6 * 32}, "d")};
  Session session;
  Eager eager(session);
  const Graph graph = trace("net", {f32(a[0].shape()), f32(a[1].shape()), f32(a[2].shape()), f32(a[3].shape())}, net);
  expect_same_bits(eager.run(net, a[0], a[1], a[2], a[3]),
                   compiled(graph, {{"x0", a[0]}, {"x1", a[1]}, {"x2", a[2]}, {"x3", a[3]}}).front());
}

TEST(Eager, RandomGraphsGiveTheirBitsOpByOp) {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    const testing::RandomStep step = testing::random_step(seed);
    Graph graph = step.forward;
    Arguments arguments;
    for (ValueId id : graph.arguments) {
      graph.value(id).kind = ValueKind::input;
      arguments[graph.value(id).name] = step.arguments.at(graph.value(id).name);
    }
    Session session;
    Eager eager(session);
    const std::vector<Tensor> one_by_one = eager.run_ops(graph, arguments), whole = compiled(graph, arguments);
    ASSERT_EQ(one_by_one.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i)
      expect_same_bits(one_by_one[i], whole[i], "seed " + std::to_string(seed) + ", result " + std::to_string(i));
  }
}

TEST(EagerGradients, AreThoseOfTheTracedGraph) {
  const auto loss = [](Value x, Value y) {
    const Value z = test_f(x, y);
    return z.builder().apply("reduce_sum", {z * z});
  };
  const Tensor x = drawn({2, 3}, "x"), y = drawn({2, 3}, "y"), unused = drawn({4}, "u");
  Session session;
  Eager eager(session);
  const Value vx = eager.input(x), vy = eager.input(y), vu = eager.input(unused);
  const Value l = loss(vx, vy);
  const std::vector<Value> wanted{vx, vy, vu};
  const std::vector<Tensor> gradients = nn::eager_gradients(eager, l, wanted);
  ASSERT_EQ(gradients.size(), 3u);

  Graph graph = inline_calls(trace("loss", {f32({2, 3}), f32({2, 3})}, loss));
  const std::vector<ValueId> ids = differentiate(graph, graph.returns[0].value, graph.arguments);
  graph.returns = {{"dx", ids[0]}, {"dy", ids[1]}};
  const std::vector<Tensor> expected = compiled(graph, {{"x0", x}, {"x1", y}});
  expect_same_bits(gradients[0], expected[0]);
  expect_same_bits(gradients[1], expected[1]);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(gradients[2].at(i), 0);
  // z = x - 1, so loss = sum (x - 1)^2 wherever b is not zero.
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_NEAR(gradients[0].at(i), 2 * (x.at(i) - 1), 1e-3 * std::abs(x.at(i) - 1));
  // Recording continues.
  EXPECT_NO_THROW(eager.tensor(vx + vy));
}

TEST(Eager, AnOpThatFailsIsNotRecorded) {
  Session session;
  Eager eager(session);
  const Value x = eager.input(drawn({2, 3}, "x"));
  const Value labels = eager.input(Tensor::of<std::int32_t>({1, 7}, {2}));
  GraphBuilder& builder = x.builder();
  EXPECT_THROW(builder.apply("softmax_cross_entropy", {x, labels}), Error);
  const Value y = builder.apply("relu", {x});
  ASSERT_EQ(eager.recorded().nodes.size(), 1u);
  EXPECT_EQ(eager.recorded().nodes[0].op, "relu");
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(eager.tensor(y).at(i), std::max(0.0, eager.tensor(x).at(i)));
}

TEST(Eager, MistakesNameTheLineAndWhatCannotBeLookedAt) {
  Session session;
  Eager eager(session);
  const Value x = eager.input(drawn({2, 3}, "x")), w = eager.input(drawn({4, 5}, "w"));
  try {
    eager.builder().apply("dense", {x, w});
    FAIL() << "the shapes do not fit";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("eager_test.cpp:"), std::string::npos) << error.what();
  }
  const auto looks = [&](Value v) { return eager.tensor(v).at(0) > 0 ? v : v + 1; };
  EXPECT_THROW(call("looks", looks, x), Error);
  EXPECT_THROW(eager.tensor(Value()), Error);
  EXPECT_THROW(nn::eager_gradients(eager, x, std::vector<Value>{x}), Error) << "a loss is a scalar";
}

// The next builder is at the address of the previous one, and another value may have the same number.
TEST(Eager, AValueFromBeforeForgetIsRefusedWithTheLine) {
  Session session;
  Eager eager(session);
  const Value before = eager.input(drawn({2, 3}, "x"));
  const GraphBuilder* place = &eager.builder();
  eager.forget();
  const Value x = eager.input(drawn({2, 3}, "y"));
  EXPECT_EQ(&eager.builder(), place);
  ASSERT_EQ(before.id(), x.id());
  const auto line = [](int number) { return " (" + std::string(__FILE__) + ":" + std::to_string(number) + ")"; };
  EXPECT_EQ(error_of([&] { eager.tensor(before); }),
            "what is looked at is a value of graph eager, which is no longer built: inside of `call`, and after "
            "forget(), there is nothing to look at" +
                line(__LINE__ - 3));
  EXPECT_EQ(error_of([&] { x + before; }),
            "[add] operand 1 (y) is a value of graph eager, which is no longer built" + line(__LINE__ - 1));
  EXPECT_NE(error_of([&] { before * 2.0; }), "");
  EXPECT_NE(error_of([&] { before.shape(); }), "");
  const Value sum = eager.builder().apply("reduce_sum", {x});
  EXPECT_EQ(error_of([&] { nn::eager_gradients(eager, sum, std::vector<Value>{before}); }).rfind("what is looked", 0),
            0u);
  EXPECT_NO_THROW(eager.tensor(sum));
}

}  // namespace
}  // namespace ridgeline
