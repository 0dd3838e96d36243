// f32 parameters and results with bf16 and f16 data: what is allowed and refused, and that gradients of such ops have
// the types of their operands and the values of wider arithmetic.
#include <gtest/gtest.h>

#include <cmath>

#include "ridgeline/core/random.h"
#include "ridgeline/graph/grad/differentiate.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/op/evaluate.h"
#include "tests/support/error_of.h"

namespace ridgeline {
namespace {

std::string refusal(const std::string& body) {
  return error_of([&] { verify(parse_graph("graph @g(" + body)); });
}

TEST(MixedTypes, OnlyF32ParametersBesideNarrowDataAreAllowed) {
  EXPECT_EQ(
      refusal("%x: bf16[2,4], %w: bf16[3,4], %b: f32[3]) {\n  %0 = dense(%x, %w, %b) : bf16[2,3]\n  return %0\n}\n"),
      "");
  EXPECT_NE(refusal("%x: f32[2,4], %w: f32[3,4], %b: bf16[3]) {\n  %0 = dense(%x, %w, %b) : f32[2,3]\n  return %0\n}\n")
                .find("[dense] bias is bf16[3] beside f32 data; the same type is meant"),
            std::string::npos);
  EXPECT_NE(
      refusal("%x: bf16[2,4], %w: bf16[3,4], %b: f16[3]) {\n  %0 = dense(%x, %w, %b) : bf16[2,3]\n  return %0\n}\n")
          .find("[dense] bias is f16[3] beside bf16 data; the same type is meant, or f32"),
      std::string::npos);
  EXPECT_NE(refusal("%x: bf16[2,4], %w: f32[3,4]) {\n  %0 = dense(%x, %w) : bf16[2,3]\n  return %0\n}\n")
                .find("have different types"),
            std::string::npos);
  EXPECT_NE(refusal("%x: f64[2,4], %w: f64[3,4]) {\n  %0 = dense(%x, %w) {f32_results=true} : f32[2,3]\n  return "
                    "%0\n}\n")
                .find("[dense] f32_results=true would narrow the results of f64 operands"),
            std::string::npos);
  EXPECT_NE(refusal("%x: bf16[2,4], %g: f32[4], %h: bf16[4]) {\n  %0 = batch_norm_eval(%x, %g, %g, %g, %h) : "
                    "bf16[2,4]\n  return %0\n}\n")
                .find("have different types"),
            std::string::npos);
}

// The forward graph with its gradients as returned values, in `narrow` types, and with all types f64.
struct Pair {
  Graph graph;
  Arguments arguments;
};

Pair with_gradients(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  Pair pair{parse_graph(text), {}};
  Graph& graph = pair.graph;
  std::vector<ValueId> wanted;
  for (ValueId id : graph.arguments) {
    const bool statistic = graph.value(id).name == "dummy" || graph.value(id).name == "v";  // no gradient flows there
    if (!statistic) wanted.push_back(id);
  }
  const std::vector<ValueId> gradients = differentiate(graph, graph.returns[0].value, wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(graph.value(gradients[i]).type, graph.value(wanted[i]).type) << graph.value(wanted[i]).name;
    graph.returns.push_back({"d" + graph.value(wanted[i]).name, gradients[i]});
  }
  verify(graph);
  for (ValueId id : graph.arguments) {
    const ValueInfo& info = graph.value(id);
    Tensor t(info.type.dtype, info.type.shape);
    SampleRandom random(philox_key(3, info.name), 0, 0);
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      // Numbers that bf16 and f16 represent exactly, so both graphs have the same operands.
      t.set(i, (info.name == "v" ? 1.0 : 0.0) + static_cast<double>(random.integer(-64, 64)) / 128);
    }
    pair.arguments.emplace(info.name, t);
  }
  return pair;
}

void expect_gradients_agree(const std::string& text) {
  for (const std::string narrow : {"bf16", "f16"}) {
    SCOPED_TRACE(narrow);
    const Pair mixed = with_gradients(text, "NARROW", narrow);
    std::string wide_text = text;
    for (std::size_t at = 0; (at = wide_text.find("f32[", at)) != std::string::npos; at += 4) {
      wide_text.replace(at, 4, "f64[");
    }
    for (const auto& [from, to] : {std::pair{"to=f32", "to=f64"}, std::pair{"f32_results=true", "f32_results=false"}}) {
      for (std::size_t at = 0; (at = wide_text.find(from, at)) != std::string::npos;) {
        wide_text.replace(at, std::string(from).size(), to);
      }
    }
    const Pair wide = with_gradients(wide_text, "NARROW", "f64");
    const std::vector<Tensor> got = evaluate_returns(mixed.graph, mixed.arguments);
    const std::vector<Tensor> expected = evaluate_returns(wide.graph, wide.arguments);
    for (std::size_t r = 0; r < expected.size(); ++r) {
      double largest = 1e-30;
      for (std::int64_t i = 0; i < expected[r].elements(); ++i)
        largest = std::max(largest, std::abs(expected[r].at(i)));
      for (std::int64_t i = 0; i < expected[r].elements(); ++i) {
        EXPECT_NEAR(got[r].at(i), expected[r].at(i), 0.02 * largest) << mixed.graph.returns[r].name << " " << i;
      }
    }
  }
}

TEST(MixedTypes, GradientsOfADenseLayerWithF32BiasAndResultsAgreeWithWiderOnes) {
  for (const std::string attribute : {"", "{f32_results=true} "}) {
    const std::string result = attribute.empty() ? "NARROW" : "f32";
    expect_gradients_agree("graph @g(%x: NARROW[4,5], %w: NARROW[3,5], %b: f32[3]) {\n  %0 = dense(%x, %w, %b) " +
                           attribute + ": " + result + "[4,3]\n  %1 = cast(%0) {to=f32} : f32[4,3]\n" +
                           "  %2 = mul(%1, %1) : f32[4,3]\n  %3 = reduce_sum(%2) : f32[]\n  return %3 \"loss\"\n}\n");
  }
}

TEST(MixedTypes, GradientsOfAConvolutionWithF32BiasAgreeWithWiderOnes) {
  expect_gradients_agree(
      "graph @g(%x: NARROW[2,4,4,3], %w: NARROW[5,3,3,3], %b: f32[5]) {\n"
      "  %0 = conv2d(%x, %w, %b) {pad=[1,1,1,1], activation=\"relu\"} : NARROW[2,4,4,5]\n"
      "  %1 = cast(%0) {to=f32} : f32[2,4,4,5]\n  %2 = reduce_sum(%1) : f32[]\n  return %2 \"loss\"\n}\n");
}

TEST(MixedTypes, GradientsOfBatchNormWithF32ParametersAgreeWithWiderOnes) {
  expect_gradients_agree(
      "graph @g(%x: NARROW[3,2,2,4], %g: f32[4], %h: f32[4], %dummy: f32[4]) {\n"
      "  %0, %1, %2, %3, %4 = batch_norm_train(%x, %g, %h, %dummy, %dummy) : NARROW[3,2,2,4], "
      "f32[4], f32[4], f32[4], f32[4]\n"
      "  %5 = cast(%0) {to=f32} : f32[3,2,2,4]\n  %6 = mul(%5, %5) : f32[3,2,2,4]\n"
      "  %7 = mul(%6, %5) : f32[3,2,2,4]\n  %8 = reduce_sum(%7) : f32[]\n  return %8 \"loss\"\n}\n");
  expect_gradients_agree(
      "graph @g(%x: NARROW[3,2,2,4], %g: f32[4], %h: f32[4], %dummy: f32[4], %v: f32[4]) {\n"
      "  %0 = batch_norm_eval(%x, %g, %h, %dummy, %v) : NARROW[3,2,2,4]\n"
      "  %1 = cast(%0) {to=f32} : f32[3,2,2,4]\n  %2 = mul(%1, %1) : f32[3,2,2,4]\n"
      "  %3 = reduce_sum(%2) : f32[]\n  return %3 \"loss\"\n}\n");
}

}  // namespace
}  // namespace ridgeline
