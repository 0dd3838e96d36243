#include "ridgeline/optim/schedules.h"

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

// A user's own schedule.
struct Halving {
  double base;
  void check() const {}
  loop::Expr rate(loop::Expr step) const { return base / (1.0 + floor(step / 1000.0)); }
};

double in_graph(const Schedule& schedule, std::int64_t step) {
  GraphBuilder builder("rate");
  builder.returns("rate", learning_rate(schedule, builder.state("global_step", {DType::i64, {}})));
  const Graph graph = builder.finish();
  verify(graph);
  const Tensor rate = evaluate_returns(graph, {{"global_step", Tensor::scalar(step)}}).front();
  EXPECT_EQ(rate.dtype(), DType::f64);
  return *rate.data<double>();
}

template <class Formula>
std::string message_of(const Formula& formula) {
  try {
    const Schedule schedule = formula;
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ScheduleTest, TheRecipesLogShowsTheseRates) {
  // The published log prints after s steps the rate of the s-th step, whose index is s - 1.
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
  const MultiStep steps{.base = 0.1, .factor = 0.1, .boundaries = {3, 7}};
  const WarmupCosine cold{.base = 0.015, .steps_per_epoch = 7, .warmup_epochs = 0, .epochs = 9};
  const Cosine smooth{.base = 0.1, .end = 0.001, .steps = 700};
  const Schedule all[] = {kRecipe,
                          cold,
                          steps,
                          Constant{0.02},
                          smooth,
                          StepDecay{.base = 0.3, .factor = 0.7, .every = 3},
                          Exponential{.base = 0.3, .factor = 0.999, .every = 7},
                          Polynomial{.base = 0.1, .end = 0.01, .steps = 6255, .power = 2.5},
                          OneCycle{.peak = 0.1, .steps = 700},
                          Warmup{.steps = 7, .then = smooth},
                          Halving{0.1}};
  for (const Schedule& schedule : all) {
    for (std::int64_t step : {0, 1, 2, 3, 6, 7, 8, 62, 63, 700, 6254, 6255, 99'999, 187'649, 187'650, 200'000}) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(in_graph(schedule, step)),
                std::bit_cast<std::uint64_t>(learning_rate(schedule, step)))
          << "schedule " << &schedule - all << " step " << step;
    }
  }
}

TEST(ScheduleTest, AMultiStepMultipliesFromItsBoundaryOn) {
  const MultiStep rule{.base = 1.0, .factor = 0.5, .boundaries = {10, 20}};
  EXPECT_EQ(learning_rate(rule, 9), 1.0);
  EXPECT_EQ(learning_rate(rule, 10), 0.5);
  EXPECT_EQ(learning_rate(rule, 19), 0.5);
  EXPECT_EQ(learning_rate(rule, 20), 0.25);
}

// Compared with the formulas of their sources, using functions of the C library.
TEST(ScheduleTest, TheFormulasAreTheirSources) {
  for (std::int64_t i = 0; i < 130; ++i) {
    const double x = static_cast<double>(i), done = std::min(x, 100.0) / 100.0;
    EXPECT_NEAR(learning_rate(StepDecay{.base = 0.5, .factor = 0.3, .every = 30}, i), 0.5 * std::pow(0.3, i / 30),
                1e-15);
    EXPECT_NEAR(learning_rate(Exponential{.base = 0.5, .factor = 0.3, .every = 30}, i), 0.5 * std::pow(0.3, x / 30),
                1e-15);
    EXPECT_NEAR(learning_rate(Polynomial{.base = 0.5, .end = 0.1, .steps = 100, .power = 1.7}, i),
                0.4 * std::pow(1 - done, 1.7) + 0.1, 1e-15);
    EXPECT_NEAR(learning_rate(Polynomial{.base = 0.5, .end = 0.1, .steps = 100}, i), 0.4 * (1 - done) + 0.1, 1e-15);
    EXPECT_NEAR(learning_rate(Cosine{.base = 0.5, .end = 0.1, .steps = 100}, i),
                0.1 + 0.2 * (1 + std::cos(M_PI * done)), 1e-15);
    const Warmup warm{.steps = 10, .then = Cosine{.base = 0.5, .steps = 90}};
    EXPECT_NEAR(learning_rate(warm, i),
                i < 10 ? 0.05 * (x + 1) : 0.25 * (1 + std::cos(M_PI * std::min(x - 10, 90.0) / 90)), 1e-15);
  }
}

TEST(ScheduleTest, OneCycleRisesToItsPeakAndFallsFarBelowItsStart) {
  const OneCycle cycle{.peak = 1.0, .steps = 100};
  EXPECT_NEAR(learning_rate(cycle, 0), 0.04, 1e-15);
  EXPECT_DOUBLE_EQ(learning_rate(cycle, 29), 1.0);
  EXPECT_NEAR(learning_rate(cycle, 64), 0.5, 1e-5);
  EXPECT_NEAR(learning_rate(cycle, 99), 4e-6, 1e-12);
  EXPECT_EQ(learning_rate(cycle, 500), learning_rate(cycle, 99));
}

TEST(ScheduleTest, EveryOneOfTheTableCanBeMade) {
  const ScheduleArguments arguments{
      .lr = 0.1, .steps_per_epoch = 10, .epochs = 90, .warmup_epochs = 5, .decay_epochs = {30, 60}};
  for (const ScheduleEntry& entry : schedules()) {
    const Schedule schedule = entry.make(arguments);
    double highest = 0;
    for (std::int64_t i = 0; i < 900; ++i) highest = std::max(highest, learning_rate(schedule, i));
    EXPECT_NEAR(highest, 0.1, 1e-3) << entry.name;
    EXPECT_LT(learning_rate(schedule, 0), 0.1) << entry.name << ": no warm-up";
    EXPECT_EQ(&schedule_named(entry.name), &entry);
  }
  EXPECT_DOUBLE_EQ(learning_rate(schedule_named("multi_step").make(arguments), 299), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule_named("multi_step").make(arguments), 300), 0.01);
}

TEST(ScheduleTest, AnEpochInsideTheWarmUpIsNoPlaceToDecay) {
  const auto make = [](std::int64_t epoch) {
    return schedule_named("multi_step")
        .make({.lr = 0.1, .steps_per_epoch = 10, .epochs = 90, .warmup_epochs = 5, .decay_epochs = {epoch, 60}});
  };
  EXPECT_NO_THROW(make(5));
  try {
    make(4);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "epoch 4 of multi_step lies inside the warm-up of 5 epochs, where the rate only rises");
  }
}

TEST(ScheduleTest, ImpossibleSettingsAreRefused) {
  EXPECT_EQ(message_of(kRecipe), "");
  EXPECT_NE(message_of(Constant{-1.0}), "");
  EXPECT_NE(message_of(Constant{std::numeric_limits<double>::infinity()}), "");
  EXPECT_NE(message_of(MultiStep{.boundaries = {5, 5}}), "");
  EXPECT_NE(message_of(Exponential{.factor = 0}), "");
  EXPECT_NE(message_of(Polynomial{.steps = 10, .power = 0}), "");
  EXPECT_NE(message_of(OneCycle{.steps = 3}), "");
  EXPECT_NE(message_of(Warmup{.steps = 0, .then = Constant{}}), "");
  EXPECT_EQ(message_of(Cosine{}), "the cosine has 0 steps; it needs at least one");
  EXPECT_EQ(message_of(WarmupCosine{.steps_per_epoch = 0}), "an epoch has 0 steps; it needs at least one");
  EXPECT_EQ(message_of(WarmupCosine{.steps_per_epoch = 1, .epochs = 0}), "max_epochs is 0; it must be at least 1");
  EXPECT_EQ(message_of(WarmupCosine{.steps_per_epoch = 1, .warmup_epochs = -1}),
            "warmup_epochs is -1; it must not be negative");
}

}  // namespace
}  // namespace ridgeline::optim
