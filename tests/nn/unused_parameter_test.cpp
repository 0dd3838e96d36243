// Mistakes in a user's network that are visible only in the whole step: the error names the network and the line.
#include <gtest/gtest.h>

#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/training_step.h"
#include "tests/support/error_of.h"

namespace ridgeline::nn {
namespace {

std::string line(int number) { return " (" + std::string(__FILE__) + ":" + std::to_string(number) + ")"; }

std::string step_error(std::function<Value(ModelContext&)> loss, const TrainingOptions& options = {}) {
  return error_of([&] { build_training_step({.name = "own", .loss = std::move(loss)}, options, 1); });
}

TEST(UnusedParameter, IsNamedWithTheLineThatDeclaresIt) {
  int declared = 0;
  const auto loss = [&](ModelContext& context) {
    const Value x = context.builder.input("x", {DType::f32, {4, 3}});
    declared = __LINE__ + 1;
    context.parameter("forgotten", {3}, ones());
    return mean(dense(x, context.parameter("w", {1, 3}, ones()), {}));
  };
  const std::string message = step_error(loss);
  EXPECT_EQ(message,
            "the loss of own does not use its parameter forgotten: leave it out, or freeze it "
            "(TrainingOptions::groups)" +
                line(declared));
  EXPECT_EQ(step_error(loss, {.groups = {{.pattern = "forgotten", .frozen = true}}}), "");
}

TEST(UnusedParameter, OfALayerIsNamedWithTheLayersLine) {
  int declared = 0;
  const std::string message = step_error([&](ModelContext& context) {
    const Value x = context.builder.input("x", {DType::f32, {4, 3}});
    declared = __LINE__ + 1;
    dense_layer(context, x, {.name = "side", .out = 2});
    return mean(dense_layer(context, x, {.name = "head", .out = 1}));
  });
  EXPECT_EQ(message,
            "the loss of own does not use its parameter side.weight: leave it out, or freeze it "
            "(TrainingOptions::groups)" +
                line(declared));
}

TEST(NetworkMistakes, AnEmptyOrForeignLossAndNoneAtAllAreToldWithTheNetwork) {
  EXPECT_EQ(step_error(nullptr), "the network own has no loss: it cannot be trained");
  EXPECT_EQ(step_error([](ModelContext&) { return Value(); }), "the loss of own is an empty Value");
  GraphBuilder other("other");
  const Value foreign = other.input("loss", {DType::f32, {}});
  EXPECT_EQ(step_error([&](ModelContext&) { return foreign; }),
            "the loss of own is a value of graph other, not of train_step, which is built here");
  EXPECT_NE(error_of([] { build_evaluation_step({.name = "own"}); }).find("own has no evaluation"), std::string::npos);
}

TEST(NetworkMistakes, LayersNameTheirOwnLine) {
  const auto scalar = [](ModelContext& context) {
    return dense_layer(context, context.builder.constant(1.0), {.name = "d", .out = 1});
  };
  const int layer = __LINE__ - 2;
  EXPECT_EQ(step_error(scalar), "layer d reads f32[], a scalar: images or rows of numbers are meant" + line(layer));
  const auto fans = [] { fans_of({3}); };
  const int asked = __LINE__ - 1;
  EXPECT_EQ(error_of(fans),
            "fans are those of kernels [K,R,S,C] and of dense weights [out,in], not of a parameter [3]" + line(asked));
  EXPECT_EQ(error_of([] { image_classifier({}); }),
            "StepOptions::model is not set: model_named() finds one by its name");
}

TEST(NetworkMistakes, AnOptimizerOfOnesOwnGivesAsManyValuesAsItHasSlots) {
  struct Short {
    void check() const {}
    std::vector<std::string> slots() const { return {"a"}; }
    bool coupled() const { return true; }
    std::vector<Value> scalars(const optim::StepValues&) const { return {}; }
    std::vector<Value> next(const optim::ParameterUpdate& update) const { return {update.parameter}; }
  };
  const auto loss = [](ModelContext& context) {
    const Value x = context.builder.input("x", {DType::f32, {4, 3}});
    return mean(dense(x, context.parameter("w", {1, 3}, ones()), {}));
  };
  const std::string message = step_error(loss, {.optimizer = Short{}});
  EXPECT_EQ(message.rfind("the optimizer of parameter w has 1 slots: 2 next values are meant, not 1", 0), 0u)
      << message;
}

}  // namespace
}  // namespace ridgeline::nn
