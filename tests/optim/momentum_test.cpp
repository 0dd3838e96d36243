#include "ridgeline/optim/momentum.h"

#include <gtest/gtest.h>
#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/op/evaluate.h"

namespace ridgeline::optim {
namespace {

// One update of w by the gradient of w^2 (that is 2w) as a graph.
Graph parabola(const Momentum& optimizer) {
  GraphBuilder builder("parabola");
  const Value w = builder.param("w", {DType::f32, {2}});
  const Value slot = optimizer.momentum == 0 ? Value() : builder.state(momentum_slot("w"), {DType::f32, {2}});
  const Value rate = builder.input("rate", {DType::f32, {}});
  update(optimizer, w, slot, w * 2.0, rate, optimizer.weight_decay);
  Graph graph = builder.finish();
  verify(graph);
  return graph;
}

void expect_law(const Momentum& optimizer) {
  const Graph graph = parabola(optimizer);
  Arguments arguments = {{"rate", Tensor::scalar(0.1f)}, {"w", Tensor::of<float>({1.0f, -3.0f}, {2})}};
  if (optimizer.momentum != 0) arguments["w/momentum"] = Tensor::zeros(DType::f32, {2});
  double w[2] = {1.0, -3.0};
  double m[2] = {0.0, 0.0};
  for (int step = 0; step < 20; ++step) {
    for (auto& [name, tensor] : evaluate_updates(graph, arguments)) arguments[name] = tensor;
    for (int i = 0; i < 2; ++i) {
      const double g = 2 * w[i] + optimizer.weight_decay * w[i];
      m[i] = optimizer.momentum * m[i] + g;
      w[i] -= 0.1f * (optimizer.nesterov ? g + optimizer.momentum * m[i] : m[i]);
      EXPECT_NEAR(arguments["w"].at(i), w[i], 2e-6) << "step " << step;
      if (optimizer.momentum != 0) {
        EXPECT_NEAR(arguments["w/momentum"].at(i), m[i], 1e-5) << "step " << step;
      }
    }
  }
}

TEST(MomentumTest, TheUpdateFollowsTheFormula) {
  expect_law({.momentum = 0.9, .nesterov = true, .weight_decay = 1e-4});
  expect_law({.momentum = 0.9, .nesterov = false, .weight_decay = 0.01});
}

TEST(MomentumTest, WithoutMomentumThereIsNoSlot) {
  expect_law({.momentum = 0, .nesterov = false, .weight_decay = 0.05});
  EXPECT_EQ(parabola({.momentum = 0, .nesterov = false}).updates.size(), 1u);
  EXPECT_EQ(parabola({}).updates.size(), 2u);
}

TEST(MomentumTest, SettingsOutsideTheirRangeAreRefused) {
  EXPECT_NO_THROW(check(Momentum{}));
  EXPECT_NO_THROW(check(Momentum{.momentum = 0}));
  EXPECT_THROW(check(Momentum{.momentum = 1}), Error);
  EXPECT_THROW(check(Momentum{.momentum = -0.1}), Error);
  EXPECT_THROW(check(Momentum{.momentum = std::nan("")}), Error);
  EXPECT_THROW(check(Momentum{.weight_decay = -1e-4}), Error);
  try {
    check(Momentum{.momentum = 1.5});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "momentum is 1.500000; it must lie in [0, 1)");
  }
}

}  // namespace
}  // namespace ridgeline::optim
