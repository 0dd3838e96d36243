#include "ridgeline/graph/op/evaluate.h"

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/trace.h"

namespace ridgeline {
namespace {

Tensor row(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::of(values, {count});
}

std::string message_of(const Graph& graph, const Arguments& arguments) {
  try {
    evaluate(graph, arguments);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Evaluate, GivesReturnsAndNextVersions) {
  GraphBuilder b("step");
  const Value w = b.param("w", f32({2}));
  const Value g = b.input("g", f32({2}));
  const Value lr = b.input("lr", f32({}));
  const Value next = b.apply("sgd", {w, g, lr});
  b.update(w, next);
  b.returns("moved", b.apply("sub", {next, w}));
  const Graph graph = b.finish();
  const Arguments arguments = {{"w", row({1, 2})}, {"g", row({4, -4})}, {"lr", Tensor::scalar(0.5f)}};
  const std::vector<Tensor> returns = evaluate_returns(graph, arguments);
  ASSERT_EQ(returns.size(), 1u);
  EXPECT_EQ(returns[0].at(0), -2);
  EXPECT_EQ(returns[0].at(1), 2);
  const Arguments updates = evaluate_updates(graph, arguments);
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(updates.at("w").at(0), -1);
  EXPECT_EQ(arguments.at("w").at(0), 1) << "arguments are not written";
}

TEST(Evaluate, RunsCallsOfNamedFunctions) {
  const Graph graph = trace("twice", {f32({2}), f32({2})}, [](Value x, Value y) {
    const auto muladd = [](Value a, Value b) { return a * b + a; };
    return call("muladd", muladd, call("muladd", muladd, x, y), y);
  });
  const std::vector<Tensor> returns = evaluate_returns(graph, {{"x0", row({1, 2})}, {"x1", row({3, 4})}});
  EXPECT_EQ(returns[0].at(0), 16);  // (1*3+1) = 4, 4*3+4
  EXPECT_EQ(returns[0].at(1), 50);  // (2*4+2) = 10, 10*4+10
}

TEST(Evaluate, NamesArgumentsThatAreMissingUnknownOrOfAnotherType) {
  const Graph graph = trace("id", {f32({2})}, [](Value x) { return x; });
  EXPECT_EQ(message_of(graph, {}), "graph @id: argument x0 is missing");
  EXPECT_EQ(message_of(graph, {{"x0", row({1, 2, 3})}}), "graph @id: argument x0 is f32[3] instead of f32[2]");
  EXPECT_EQ(message_of(graph, {{"x0", row({1, 2})}, {"x1", row({1})}}), "graph @id has no argument x1");
}

}  // namespace
}  // namespace ridgeline
