#include "ridgeline/nn/parameter_groups.h"

#include <gtest/gtest.h>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/nn/training_step.h"

namespace ridgeline::nn {
namespace {

TEST(ParameterGroups, PatternsMatchNames) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("features.*", "features.0.weight"));
  EXPECT_FALSE(matches("features.*", "xfeatures.0"));
  EXPECT_TRUE(matches("*/bias", "dense_1/bias"));
  EXPECT_TRUE(matches("layer?.*.bn*", "layer1.0.bn2.weight"));
  EXPECT_FALSE(matches("layer?.*.bn*", "layer10.bn2.weight"));
  EXPECT_TRUE(matches("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(matches("a*b*c", "a-b-b-d"));
  EXPECT_FALSE(matches("a", "ab"));
}

Step step_with(TrainingOptions training) {
  return build_training_step({.model = &model_named("resnet20"), .batch_size = 2, .images = ImageForm::f32}, training);
}

std::set<std::string> updated(const Step& step) {
  std::set<std::string> names;
  for (const auto& update : step.graph.updates) names.insert(step.graph.value(update.current).name);
  return names;
}

const Node& update_of(const Step& step, const std::string& parameter) {
  for (const Node& node : step.graph.nodes) {
    if (node.name == parameter + "/update") return node;
  }
  throw Error("no update of " + parameter);
}

TEST(ParameterGroups, WhatIsFrozenHasNoGradientSlotOrUpdate) {
  const Step all = step_with({});
  const Step head = step_with({.groups = {{.pattern = "*", .frozen = true}, {.pattern = "linear.*", .frozen = false}}});
  EXPECT_TRUE(updated(all).contains("conv1.weight"));
  EXPECT_FALSE(updated(head).contains("conv1.weight"));
  EXPECT_TRUE(updated(head).contains("linear.weight"));
  EXPECT_TRUE(updated(head).contains("bn1.running_mean")) << "statistics are no parameters";
  std::set<std::string> slots;
  for (const ParameterSpec& spec : head.parameters) {
    if (spec.role == ParameterRole::slot) slots.insert(spec.name);
  }
  EXPECT_EQ(slots, (std::set<std::string>{"linear.weight/momentum", "linear.bias/momentum"}));
  EXPECT_LT(head.graph.nodes.size(), all.graph.nodes.size() / 2);
}

TEST(ParameterGroups, RatesAndDecaysAreTheGroups) {
  const Step step =
      step_with({.weight_decay = 0.1,
                 .decay_vectors = false,
                 .groups = {{.pattern = "conv1.*", .rate_factor = 0.1}, {.pattern = "layer1.*", .weight_decay = 0.5}}});
  EXPECT_EQ(update_of(step, "linear.weight").attributes.real("weight_decay"), 0.1);
  EXPECT_EQ(update_of(step, "linear.bias").attributes.real("weight_decay"), 0);
  EXPECT_EQ(update_of(step, "layer1.0.conv1.weight").attributes.real("weight_decay"), 0.5);
  const auto rate = [&](const std::string& name) { return update_of(step, name).inputs.back(); };
  EXPECT_EQ(rate("linear.weight"), rate("layer1.0.conv1.weight"));
  EXPECT_NE(rate("linear.weight"), rate("conv1.weight"));
}

TEST(ParameterGroups, TheLastThatMatchesCountsAlone) {
  const Step step = step_with(
      {.weight_decay = 0.1,
       .groups = {{.pattern = "layer1.*", .rate_factor = 0.1, .weight_decay = 0.5}, {.pattern = "layer1.0.*"}}});
  EXPECT_EQ(update_of(step, "layer1.1.conv1.weight").attributes.real("weight_decay"), 0.5);
  EXPECT_EQ(update_of(step, "layer1.0.conv1.weight").attributes.real("weight_decay"), 0.1);
  EXPECT_EQ(update_of(step, "layer1.0.conv1.weight").inputs.back(), update_of(step, "linear.weight").inputs.back());
}

TEST(ParameterGroups, MistakesAreNamed) {
  const auto message = [](std::vector<ParameterGroup> groups) -> std::string {
    try {
      step_with({.groups = std::move(groups)});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message({{.pattern = "conv9*"}})
                .find("parameters 'conv9*': the model has no parameter of such a name (it "
                      "has conv1.weight"),
            std::string::npos);
  EXPECT_NE(message({{.pattern = "*", .rate_factor = -1}}).find("factor of the rate is -1"), std::string::npos);
  EXPECT_NE(message({{.pattern = "*", .weight_decay = -1}}).find("weight_decay is -1"), std::string::npos);
  EXPECT_NE(message({{.pattern = "*", .frozen = true}}).find("nothing to train"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::nn
