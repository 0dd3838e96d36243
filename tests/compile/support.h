// Shared by the tests of compile/: steps as text, arguments by name, comparison with the reference.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "ridgeline/compile/compile.h"
#include "ridgeline/core/random.h"
#include "ridgeline/graph/op/evaluate.h"

namespace ridgeline::testing {

inline Tensor random_tensor(const ValueType& type, const std::string& name) {
  Tensor t(type.dtype, type.shape);
  SampleRandom random(philox_key(7, name), 0, 0);
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    t.set(i, type.dtype == DType::i32 ? static_cast<double>(random.integer(0, 4)) : random.normal() * 0.5);
  }
  return t;
}

inline Arguments random_arguments(const Graph& graph) {
  Arguments arguments;
  for (ValueId id : graph.arguments) {
    const ValueInfo& info = graph.value(id);
    arguments[info.name] =
        info.type.dtype == DType::i64 ? Tensor::scalar<std::int64_t>(3) : random_tensor(info.type, info.name);
  }
  return arguments;
}

inline void store_arguments(const Graph& graph, const Arguments& arguments, Session& session) {
  for (ValueId id : graph.arguments) {
    const ValueInfo& info = graph.value(id);
    if (info.kind != ValueKind::input) session.parameters().set(info.name, arguments.at(info.name), info.kind);
  }
}

inline void bind_inputs(const Graph& graph, const Arguments& arguments, Program& program) {
  for (ValueId id : graph.arguments) {
    const ValueInfo& info = graph.value(id);
    if (info.kind == ValueKind::input) program.bind(info.name, arguments.at(info.name));
  }
}

inline void expect_close(const Tensor& a, const Tensor& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  double worst = 0;
  double largest = 1e-30;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    worst = std::max(worst, std::abs(a.at(i) - b.at(i)));
    largest = std::max(largest, std::abs(b.at(i)));
  }
  EXPECT_LE(worst / largest, tolerance) << what;
}

// Compares two steps of the compiled program with two of the reference: returned values and the whole store.
inline void expect_equals_reference(const Graph& graph, Session& session, const CompileOptions& options = {}) {
  Arguments arguments = random_arguments(graph);
  store_arguments(graph, arguments, session);
  const auto program = compile(graph, session, options);
  for (int step = 0; step < 2; ++step) {
    bind_inputs(graph, arguments, *program);
    const std::vector<Tensor> returns = evaluate_returns(graph, arguments);
    const Arguments next = evaluate_updates(graph, arguments);
    ASSERT_TRUE(program->run());
    for (std::size_t i = 0; i < returns.size(); ++i) {
      expect_close(program->output(graph.returns[i].name), returns[i], 1e-4, graph.returns[i].name);
    }
    for (const auto& [name, value] : next) {
      expect_close(session.parameters().get(name), value, 1e-4, name + " after step " + std::to_string(step));
      arguments[name] = value;
    }
  }
}

}  // namespace ridgeline::testing
