#include "ridgeline/optim/schedule.h"

#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <limits>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/op/evaluate.h"

namespace ridgeline::optim {
namespace {

// The recipe of eight devices: 1,281,025 images in batches of 1,024.
const WarmupCosine kRecipe{.base = 0.06, .steps_per_epoch = 1251, .warmup_epochs = 5, .epochs = 150};

double in_graph(const Schedule& schedule, std::int64_t step) {
  GraphBuilder builder("rate");
  builder.returns("rate", learning_rate(schedule, builder.state("global_step", {DType::i64, {}})));
  const Graph graph = builder.finish();
  verify(graph);
  const Tensor rate = evaluate_returns(graph, {{"global_step", Tensor::scalar(step)}}).front();
  EXPECT_EQ(rate.dtype(), DType::f64);
  return *rate.data<double>();
}

std::string message_of(const Schedule& schedule) {
  try {
    check(schedule);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ScheduleTest, TheRecipesLogShowsTheseRates) {
  // The published log prints, after s steps, the rate of the s-th step, whose index is s - 1.
  const std::pair<int, double> logged[] = {{700, 0.00671},  {800, 0.00767},  {900, 0.00863},  {1000, 0.00959},
                                           {1100, 0.01055}, {1200, 0.01151}, {1300, 0.01247}, {1400, 0.01343},
                                           {1500, 0.01439}, {1600, 0.01535}, {1700, 0.01631}, {1800, 0.01727}};
  for (const auto& [step, rate] : logged) {
    EXPECT_NEAR(learning_rate(kRecipe, step - 1), rate, 0.5e-5) << step;
  }
}

TEST(ScheduleTest, TheCosineStartsAfterTheWarmUpAndChangesOnceAnEpoch) {
  EXPECT_DOUBLE_EQ(learning_rate(kRecipe, 0), 0.06 / (5 * 1251));
  EXPECT_DOUBLE_EQ(learning_rate(kRecipe, 5 * 1251 - 1), 0.06);
  EXPECT_NEAR(learning_rate(kRecipe, 5 * 1251), 0.05984, 0.5e-5);
  EXPECT_EQ(learning_rate(kRecipe, 5 * 1251), learning_rate(kRecipe, 6 * 1251 - 1));
  EXPECT_LT(learning_rate(kRecipe, 6 * 1251), learning_rate(kRecipe, 6 * 1251 - 1));
  EXPECT_NEAR(learning_rate(kRecipe, 75 * 1251), 0.03, 1e-12);
}

TEST(ScheduleTest, TheLastRateStaysWhenTheRunGoesOn) {
  const double last = learning_rate(kRecipe, 150 * 1251 - 1);
  EXPECT_NEAR(last, 6.58e-6, 0.005e-6);
  EXPECT_EQ(learning_rate(kRecipe, 150 * 1251), last);
  EXPECT_EQ(learning_rate(kRecipe, 187'700), last);
}

TEST(ScheduleTest, TheGraphComputesTheSameBits) {
  const StepDecay steps{.base = 0.1, .factor = 0.1, .boundaries = {3, 7}};
  const WarmupCosine cold{.base = 0.015, .steps_per_epoch = 7, .warmup_epochs = 0, .epochs = 9};
  for (const Schedule& schedule : {Schedule{kRecipe}, Schedule{cold}, Schedule{steps}, Schedule{Constant{0.02}}}) {
    for (std::int64_t step : {0, 1, 2, 3, 6, 7, 8, 62, 63, 700, 6254, 6255, 99'999, 187'649, 187'650, 200'000}) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(in_graph(schedule, step)),
                std::bit_cast<std::uint64_t>(learning_rate(schedule, step)))
          << "law " << schedule.index() << " step " << step;
    }
  }
}

TEST(ScheduleTest, AStepDecayMultipliesFromItsBoundaryOn) {
  const StepDecay law{.base = 1.0, .factor = 0.5, .boundaries = {10, 20}};
  EXPECT_EQ(learning_rate(law, 9), 1.0);
  EXPECT_EQ(learning_rate(law, 10), 0.5);
  EXPECT_EQ(learning_rate(law, 19), 0.5);
  EXPECT_EQ(learning_rate(law, 20), 0.25);
}

TEST(ScheduleTest, ImpossibleSettingsAreRefused) {
  EXPECT_EQ(message_of(kRecipe), "");
  EXPECT_NE(message_of(Constant{-1.0}), "");
  EXPECT_NE(message_of(Constant{std::numeric_limits<double>::infinity()}), "");
  EXPECT_NE(message_of(StepDecay{.boundaries = {5, 5}}), "");
  EXPECT_EQ(message_of(WarmupCosine{.steps_per_epoch = 0}), "an epoch has 0 steps; it needs at least one");
  EXPECT_EQ(message_of(WarmupCosine{.steps_per_epoch = 1, .epochs = 0}), "max_epochs is 0; it must be at least 1");
  EXPECT_EQ(message_of(WarmupCosine{.steps_per_epoch = 1, .warmup_epochs = -1}),
            "warmup_epochs is -1; it must not be negative");
}

}  // namespace
}  // namespace ridgeline::optim
