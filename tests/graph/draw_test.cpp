// Drawings of step graphs: their contents, and graphs that are too large to draw.
#include "ridgeline/graph/draw/draw.h"

#include <gtest/gtest.h>

#include <regex>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/text.h"

namespace ridgeline {
namespace {

std::ptrdiff_t count(const std::string& text, const std::string& pattern) {
  const std::regex what(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), what), std::sregex_iterator());
}

TEST(DrawGraph, BoxesForOpsInputsAndResultsNamesForTheRest) {
  const Graph graph = parse_graph(R"(func @half(%a: f32[2,4]) {
  %0 = scale(%a) {factor=0.5} : f32[2,4]
  return %0
}
graph @step(%image: f32[2,3], %w: param f32[4,3]) {
  %0 = dense(%image, %w) : f32[2,4] name "layer<1>"
  %1 = call(%0) {function="half"} : f32[2,4]
  %2 = constant() {value=3.0} : f32[]
  %3 = mul(%1, %2) : f32[2,4]
  %4 = relu(%w) : f32[4,3]
  update %w = %4
  return %3 "loss"
})");
  const std::string svg = to_svg(graph);
  // Boxes: image, dense, call, mul, relu, return; in the function: a, scale, return. The rest is background.
  EXPECT_EQ(count(svg, "<rect x="), 9) << svg;
  // Arrows between boxes, and one from each result.
  EXPECT_EQ(count(svg, "marker-end="), 4 + 1 + 2 + 1) << svg;
  for (const char* part : {">@step<", ">function @half<", ">layer&lt;1&gt;<", ">w: w f32[4,3] (param)<", ">next w<",
                           ">y: constant value=3.0<", ">loss<", ">f32[2,4]<", ">factor=0.5<"})
    EXPECT_NE(svg.find(part), std::string::npos) << part << " in\n" << svg;
  EXPECT_EQ(count(svg, "<g[ >]"), count(svg, "</g>"));
}

TEST(DrawGraph, RefusesWhatNobodyCouldLookAt) {
  GraphBuilder b("long");
  Value v = b.input("x", {DType::f32, {2}});
  for (std::size_t i = 0; i < kMostDrawn; ++i) v = b.apply("relu", {v});
  b.returns("y", v);
  try {
    to_svg(b.finish());
    FAIL() << "it was drawn";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("graph @long has 3002 ops, arguments and results: more than 3000"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace ridgeline
