// Gradient rules before the update, on a network whose gradient the test chooses: loss = sum(w * g).
#include "ridgeline/nn/gradient_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/op/evaluate.h"
#include "ridgeline/nn/functional.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/optim/adam.h"
#include "tests/support/error_of.h"

namespace ridgeline::nn {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct FedGradient {
  explicit FedGradient(TrainingOptions options) {
    const Network network{.name = "fed", .loss = [](ModelContext& context) {
                            const Value g = context.builder.input("g", {DType::f32, {3}});
                            return sum(context.parameter("w", {3}, ones()) * g);
                          }};
    options.schedule = optim::Constant{.base = 0.5};
    options.weight_decay = 0;
    step = build_training_step(network, options);
    verify(step.graph);
    for (const ParameterSpec& spec : step.parameters) values[spec.name] = initialize(spec, 1);
    for (const Step::Average& average : step.averages) values[average.name] = values[average.parameter];
  }

  void run(std::vector<float> g) {
    values["g"] = Tensor::of<float>(g, {3});
    const std::vector<Tensor> results = evaluate_returns(step.graph, values);
    returned.clear();
    for (std::size_t i = 0; i < results.size(); ++i) returned[step.graph.returns[i].name] = results[i].at(0);
    for (auto& [name, tensor] : evaluate_updates(step.graph, values)) values[name] = tensor;
  }
  std::vector<double> w() const { return {values.at("w").at(0), values.at("w").at(1), values.at("w").at(2)}; }
  double value(const std::string& name) const { return values.at(name).at(0); }

  Step step;
  Arguments values;
  std::map<std::string, double> returned;
};

using Numbers = std::vector<double>;
const optim::Momentum kPlain{.momentum = 0, .nesterov = false};

TEST(GradientRules, ValuesAreClippedElementByElement) {
  FedGradient fed({.optimizer = kPlain, .gradients = {.clip_value = 0.25}});
  fed.run({4, -4, 0.125f});
  EXPECT_EQ(fed.w(), (Numbers{1 - 0.125, 1 + 0.125, 1 - 0.0625}));
}

TEST(GradientRules, TheNormOfAllIsClippedAndShorterOnesAreLeft) {
  FedGradient fed({.optimizer = kPlain, .gradients = {.clip_norm = 1}});
  fed.run({0, 3, 4});
  EXPECT_EQ(fed.returned.at("gradient_norm"), 5);
  EXPECT_NEAR(fed.w()[1], 1 - 0.5 * 3 / 5, 1e-6);
  EXPECT_NEAR(fed.w()[2], 1 - 0.5 * 4 / 5, 1e-6);
  const Numbers before = fed.w();
  fed.run({0.5f, 0, 0});
  EXPECT_EQ(fed.w()[0], before[0] - 0.25);
}

TEST(GradientRules, AStepOfSeveralBatchesUpdatesOnceByTheirMean) {
  const optim::Momentum momentum{.momentum = 0.5, .nesterov = true};
  FedGradient whole({.optimizer = momentum});
  FedGradient parts({.optimizer = momentum, .gradients = {.accumulate = 2}});
  for (int i = 0; i < 3; ++i) {
    const float x = 0.5f * static_cast<float>(i);
    whole.run({x, 1, 2});
    const Numbers before = parts.w();
    parts.run({x + 1, 0, 2});
    EXPECT_EQ(parts.w(), before);  // nothing changes in the middle of a step
    EXPECT_EQ(parts.value(kMicroStep), 1);
    EXPECT_EQ(parts.value(kGlobalStep), i);
    parts.run({x - 1, 2, 2});
    EXPECT_EQ(parts.w(), whole.w());
    EXPECT_EQ(parts.value(kMicroStep), 0);
    EXPECT_EQ(parts.value(kGlobalStep), i + 1);
    EXPECT_NEAR(parts.returned.at("loss"), whole.returned.at("loss"), 1e-6);
  }
}

// MindSpore's rule, from its source.
struct DynamicScale {
  double scale, factor;
  std::int64_t window, clean = 0;
  void step(bool overflow) {
    if (overflow) {
      scale = std::max(scale / factor, 1.0);
      clean = 0;
    } else if (++clean == window) {
      scale *= factor;
      clean = 0;
    }
  }
};

TEST(GradientRules, ADynamicScaleFollowsScriptedOverflowsWhichChangeNothing) {
  FedGradient fed(
      {.optimizer = optim::Adam{}, .gradients = {.loss_scale = optim::LossScale::dynamic(8, 2, 3)}, .average = 0.5});
  DynamicScale expected{8, 2, 3};
  std::int64_t steps = 0, in_a_row = 0;
  for (const char event : std::string("..x...xxxxx....x......")) {
    const bool overflow = event == 'x';
    const Arguments before = fed.values;
    EXPECT_EQ(fed.value(kLossScale), expected.scale);
    fed.run({1, overflow ? (steps % 2 == 0 ? kInf : std::nanf("")) : 0.5f, 2});
    expected.step(overflow);
    steps += overflow ? 0 : 1;
    in_a_row = overflow ? in_a_row + 1 : 0;
    EXPECT_EQ(fed.value(kGlobalStep), steps);
    EXPECT_EQ(fed.returned.at("overflows"), in_a_row);
    EXPECT_EQ(fed.value(kLossScale), expected.scale);
    for (const char* name : {"w", "w/mean", "w/mean_square", "w/average"}) {
      for (std::int64_t i = 0; i < 3; ++i) {
        EXPECT_EQ(fed.values.at(name).at(i) == before.at(name).at(i), overflow) << name << " " << i;
      }
    }
  }
}

TEST(GradientRules, AnExponentialScaleShrinksAtItsSecondOverflow) {
  FedGradient fed({.optimizer = kPlain, .gradients = {.loss_scale = optim::LossScale::exponential(10, 2)}});
  std::vector<double> scales;
  for (const char event : std::string("x.xx..")) {
    fed.run({event == 'x' ? kInf : 1.0f, 0, 0});
    scales.push_back(fed.value(kLossScale));
  }
  EXPECT_EQ(scales, (Numbers{10, 10, 10, 8, 8, 16}));
  FedGradient low({.optimizer = kPlain, .gradients = {.loss_scale = optim::LossScale::exponential(1, 2, 1)}});
  low.run({kInf, 0, 0});
  EXPECT_EQ(low.value(kLossScale), 1);  // never below
}

TEST(GradientRules, AFixedScaleOfAPowerOfTwoChangesNoBitAndMayLetOverflowsThrough) {
  FedGradient plain({});
  FedGradient fixed({.gradients = {.loss_scale = optim::LossScale::fixed(1024)}});
  for (int i = 0; i < 3; ++i) {
    plain.run({0.3f, -0.7f, 1e-3f});
    fixed.run({0.3f, -0.7f, 1e-3f});
    EXPECT_EQ(plain.w(), fixed.w());
  }
  FedGradient open({.optimizer = kPlain, .gradients = {.loss_scale = optim::LossScale::fixed(2, false)}});
  open.run({kInf, 1, 1});
  EXPECT_EQ(open.value(kGlobalStep), 1);
  EXPECT_TRUE(std::isinf(open.w()[0]));
}

TEST(GradientRules, AnOverflowInOneOfSeveralBatchesDropsTheStepAndNothingStays) {
  const GradientRules rules{.accumulate = 2, .loss_scale = optim::LossScale::dynamic(4, 2, 100)};
  FedGradient fed({.optimizer = kPlain, .gradients = rules});
  fed.run({kInf, 1, 1});
  EXPECT_EQ(fed.value(kLossScale), 4);  // decided at the end of the step
  fed.run({1, 1, 1});
  EXPECT_EQ(fed.value(kLossScale), 2);
  EXPECT_EQ(fed.w(), (Numbers{1, 1, 1}));
  EXPECT_EQ(fed.value(kGlobalStep), 0);
  fed.run({1, 1, 1});
  fed.run({1, 1, 1});
  EXPECT_EQ(fed.w(), (Numbers{0.5, 0.5, 0.5}));
  EXPECT_EQ(fed.value(kGlobalStep), 1);
}

TEST(GradientRules, OptimizersThatComputeInSeveralOpsAreSkippedToo) {
  FedGradient fed({.optimizer = optim::Lamb{}, .gradients = {.loss_scale = optim::LossScale::fixed(2)}});
  fed.run({1, 2, 3});
  const Arguments before = fed.values;
  fed.run({kInf, 2, 3});
  for (const char* name : {"w", "w/mean", "w/mean_square"})
    EXPECT_EQ(fed.values.at(name).at(1), before.at(name).at(1)) << name;
}

TEST(GradientRules, AveragesBeginAsTheirParametersAndFollowThem) {
  FedGradient fed({.optimizer = kPlain, .average = 0.75});
  fed.run({1, 0, 0});
  EXPECT_EQ(fed.value("w"), 0.5);
  EXPECT_EQ(fed.value("w/average"), 0.75 * 1 + 0.25 * 0.5);
  fed.run({1, 0, 0});
  EXPECT_EQ(fed.value("w/average"), 0.75 * 0.875 + 0.25 * 0);
}

TEST(GradientRules, SettingsThatCannotBeAreNamed) {
  const auto error = [](const TrainingOptions& options) { return error_of([&] { FedGradient fed(options); }); };
  EXPECT_EQ(error({.gradients = {.clip_norm = -1}}), "clip_norm is -1.000000; it must be finite and not negative");
  EXPECT_EQ(error({.gradients = {.accumulate = 0}}), "accumulate is 0; 1 or more is meant");
  EXPECT_EQ(error({.average = 1}), "average is 1.000000; it must lie in [0, 1)");
  EXPECT_EQ(error_of([] { optim::LossScale::fixed(0.5); }), "loss scale must be at least 1.");
  EXPECT_EQ(error_of([] { optim::LossScale::dynamic(0.5); }), "loss scale must be at least 1.");
}

TEST(LossScale, IsWrittenAsANumberOrByTheNameOfItsRule) {
  EXPECT_EQ(optim::parse_loss_scale("128").initial, 128);
  EXPECT_EQ(optim::parse_loss_scale("dynamic").grow_every, 2000);
  EXPECT_EQ(optim::parse_loss_scale("dynamic,65536,4,10").shrink, 0.25);
  EXPECT_EQ(optim::parse_loss_scale("exponential,65536,1000").shrink_every, 2);
  EXPECT_EQ(optim::parse_loss_scale("exponential,64,10,3,4,0.5").grow, 4);
  for (const char* text : {"", "dynamo", "dynamic,", "dynamic,1,2", "12x", "1,2", "exponential,64,1.5"}) {
    EXPECT_NE(error_of([&] { optim::parse_loss_scale(text); }).find("is no loss scale"), std::string::npos) << text;
  }
  EXPECT_EQ(error_of([] { optim::parse_loss_scale("0"); }), "loss scale must be at least 1.");
}

}  // namespace
}  // namespace ridgeline::nn
