// A convolution or dense layer may read a value computed from a parameter. Its kernel then also chooses the layout of
// the parameter, which ops before it read: all of them must use the same layout.
#include "tests/compile/support.h"

#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/text.h"

namespace ridgeline {
namespace {

using testing::expect_equals_reference;

const ValueType kWeights{DType::f32, {32, 3, 3, 16}};

// `derive` computes the weights of a convolution from parameter w and a second one.
template <class Derive>
Graph convolution_over(const Derive& derive) {
  GraphBuilder b("derived");
  const Value x = b.input("x", {DType::f32, {2, 7, 7, 16}});
  const Value w = b.param("w", kWeights);
  const Value v = b.state("v", kWeights);
  const Value weights = derive(b, w, v);
  b.returns("y", b.apply("conv2d", {x, weights}, {{"pad", std::vector<std::int64_t>{1, 1, 1, 1}}}));
  b.returns("weights", weights);
  b.update(w, w + 1);
  return b.finish();
}

TEST(DerivedWeights, AHalvedParameterGivesTheReferencesConvolution) {
  for (bool fusion : {true, false}) {
    Session session;
    CompileOptions options;
    options.fusion = fusion;
    expect_equals_reference(convolution_over([](GraphBuilder&, const Value& w, const Value&) { return 0.5 * w; }),
                            session, options);
  }
}

TEST(DerivedWeights, AverageOfOldWeightsAndQuantisedWeightsGiveTheReferencesConvolution) {
  Session average;
  expect_equals_reference(convolution_over([](GraphBuilder&, const Value& w, const Value& v) { return (w + v) * 0.5; }),
                          average);
  Session quantised;
  expect_equals_reference(
      convolution_over([](GraphBuilder& b, const Value& w, const Value&) { return b.apply("floor", {w * 16}) / 16; }),
      quantised);
}

TEST(DerivedWeights, WeightNormGivesTheReferencesConvolution) {
  Session session;
  expect_equals_reference(convolution_over([](GraphBuilder& b, const Value& w, const Value&) {
                            const std::vector<std::int64_t> axes{1, 2, 3};
                            const Value squares = b.apply("reduce_sum", {w * w}, {{"axes", axes}, {"keep_dims", true}});
                            return w / b.apply("sqrt", {squares});
                          }),
                          session);
}

TEST(DerivedWeights, AScaledDenseLayerGivesTheReferencesResult) {
  Session session;
  expect_equals_reference(parse_graph("graph @g(%x: f32[8,48], %w: param f32[40,48]) {\n"
                                      "  %0 = scale(%w) {factor=0.5} : f32[40,48]\n"
                                      "  %1 = dense(%x, %0) : f32[8,40]\n"
                                      "  return %1 \"y\"\n"
                                      "}\n"),
                          session);
}

TEST(DerivedWeights, TheParameterLiesAsTheConvolutionWantsItSoThatNothingIsConverted) {
  Session session;
  const Graph graph = convolution_over([](GraphBuilder&, const Value& w, const Value&) { return 0.5 * w; });
  const auto program = compile(graph, session);
  int conversions = 0;
  for (const LaunchReport& launch : program->launches()) conversions += launch.kernel.starts_with("convert") ? 1 : 0;
  EXPECT_LE(conversions, 1) << "the returned weights alone";
}

}  // namespace
}  // namespace ridgeline
