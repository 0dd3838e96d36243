#include "ridgeline/graph/op/expand_loop.h"

#include <gtest/gtest.h>
#include <array>
#include <bit>
#include <cmath>

#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/loop/builder.h"
#include "ridgeline/graph/loop/evaluate.h"
#include "ridgeline/graph/op/evaluate.h"

namespace ridgeline {
namespace {

using loop::Expr;

// Every function, also comparisons used as numbers and numbers used as conditions.
const loop::Expression kAll = loop::define<2>([](Expr x, Expr y) {
  return std::vector<Expr>{-x + abs(y) * 2.0,
                           exp(x / 3.0) - log(abs(y) + 1.0),
                           sqrt(abs(x)) + floor(y) + cos(x) + sin(y),
                           max(x, y) - min(x, y * 0.5),
                           (x < y) + 2.0 * (x <= y) + 4.0 * (x == y),
                           select(floor(x), y, x < y),
                           x > y};
});

TEST(ExpandLoop, OpsGiveTheBitsOfTheExpression) {
  GraphBuilder builder("expanded");
  const std::array operands = {builder.input("x", {DType::f64, {}}), builder.input("y", {DType::f64, {}})};
  const std::vector<Value> values = expand_loop(kAll, operands, {});
  for (std::size_t i = 0; i < values.size(); ++i) builder.returns("r" + std::to_string(i), values[i]);
  const Graph graph = builder.finish();
  verify(graph);
  for (const double x : {-2.5, -0.0, 0.4, 1.0, 7.25}) {
    for (const double y : {-3.0, 0.0, 0.4, 1.0, 9.5}) {
      const std::array numbers = {x, y};
      const std::vector<double> expected = loop::evaluate(kAll, numbers);
      const std::vector<Tensor> got = evaluate_returns(graph, {{"x", Tensor::scalar(x)}, {"y", Tensor::scalar(y)}});
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(std::bit_cast<std::uint64_t>(got[i].at(0)), std::bit_cast<std::uint64_t>(expected[i]))
            << "result " << i << " of " << x << ", " << y;
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline
