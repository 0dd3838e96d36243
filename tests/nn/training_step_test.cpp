#include "ridgeline/nn/training_step.h"

#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/op/evaluate.h"

namespace ridgeline::nn {
namespace {

Arguments initial(const Step& step, std::uint64_t seed) {
  Arguments arguments;
  for (const ParameterSpec& spec : step.parameters) arguments[spec.name] = initialize(spec, seed);
  return arguments;
}

Tensor noise(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.data<float>()[i] = uniform_float(philox_element({1, 2}, 0, static_cast<std::uint64_t>(i))) * 2 - 1;
  }
  return tensor;
}

void advance(const Step& step, Arguments& arguments) {
  for (auto& [name, tensor] : evaluate_updates(step.graph, arguments)) arguments[name] = tensor;
}

double returned(const Step& step, const Arguments& arguments, const std::string& name) {
  const std::vector<Tensor> results = evaluate_returns(step.graph, arguments);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (step.graph.returns[i].name == name) return results[i].at(0);
  }
  ADD_FAILURE() << "no result " << name;
  return 0;
}

std::size_t nodes_of(const Graph& graph, const std::string& op) {
  std::size_t count = 0;
  for (const Node& node : graph.nodes) count += node.op == op;
  return count;
}

const optim::WarmupCosine kSchedule{.base = 0.06, .steps_per_epoch = 10};

TEST(TrainingStepTest, EveryModelGivesWholeGraphs) {
  for (const ModelInfo& model : all_models()) {
    for (ImageForm images : {ImageForm::u8, ImageForm::f32}) {
      const StepOptions options{.model = &model, .batch_size = 4, .images = images};
      const Step training = build_training_step(options, {.schedule = kSchedule});
      EXPECT_NO_THROW(verify(training.graph)) << model.name;
      std::size_t trainable = 0, statistics = 0;
      for (const ParameterSpec& spec : training.parameters) {
        EXPECT_NE(training.graph.find_argument(spec.name), kNoValue) << spec.name;
        trainable += spec.trainable();
        statistics += spec.role == ParameterRole::statistic;
      }
      EXPECT_EQ(training.graph.updates.size(), 2 * trainable + statistics + 1) << model.name;
      EXPECT_EQ(training.parameters.size(), training.graph.updates.size()) << model.name;
      EXPECT_EQ(training.graph.find_argument("flip") != kNoValue, images == ImageForm::u8);
      for (const char* name : {"loss", "total_loss", "learning_rate"}) {
        const ValueId id = training.graph.find_return(name);
        ASSERT_NE(id, kNoValue);
        EXPECT_EQ(training.graph.value(id).type, (ValueType{DType::f32, {}}));
      }
      const Step evaluation = build_evaluation_step(options);
      EXPECT_NO_THROW(verify(evaluation.graph)) << model.name;
      EXPECT_TRUE(evaluation.graph.updates.empty());
      EXPECT_EQ(evaluation.parameters.size(), trainable + statistics);
      EXPECT_NO_THROW(verify(build_prediction_step(options).graph)) << model.name;
    }
  }
}

TEST(TrainingStepTest, AWholeAlexNetStepSurvivesItsText) {
  const Step step = build_training_step({.model = &model_named("alexnet")}, {.schedule = kSchedule});
  const std::string text = to_text(step.graph);
  const Graph parsed = parse_graph(text);
  EXPECT_EQ(to_text(parsed), text);
  EXPECT_NO_THROW(verify(parsed));
  EXPECT_NE(text.find("alexnet.cpp"), std::string::npos);
}

TEST(TrainingStepTest, DropoutIsKeyedByNameAndSeedAndOnlyTrains) {
  const ModelInfo& model = model_named("alexnet");
  const auto keys = [&](std::uint64_t seed) {
    const Step step = build_training_step({.model = &model, .batch_size = 2, .seed = seed}, {});
    std::set<std::int64_t> found;
    for (const Node& node : step.graph.nodes) {
      if (node.op != "dropout") continue;
      EXPECT_EQ(node.attributes.real("keep_prob"), 0.65);
      found.insert(node.attributes.integer("key"));
    }
    return found;
  };
  EXPECT_EQ(keys(1).size(), 2u);
  EXPECT_EQ(keys(1), keys(1));
  EXPECT_NE(keys(1), keys(2));
  EXPECT_EQ(nodes_of(build_evaluation_step({.model = &model, .batch_size = 2}).graph, "dropout"), 0u);
  const Step without =
      build_training_step({.model = &model, .model_options = {.dropout_keep = 1.0}, .batch_size = 2}, {});
  EXPECT_EQ(nodes_of(without.graph, "dropout"), 0u);
}

// The update adds to the gradient the gradient of the penalty that is part of total_loss.
TEST(TrainingStepTest, DecayInTheUpdateIsTheGradientOfThePenalty) {
  const StepOptions options{
      .model = &model_named("resnet20"), .batch_size = 3, .image_size = 5, .images = ImageForm::f32};
  const auto stepped = [&](double weight_decay, Arguments& before) {
    const Step step = build_training_step(options, {.schedule = optim::Constant{0.02}, .weight_decay = weight_decay});
    before = initial(step, 11);
    before["images"] = noise({3, 5, 5, 3});
    before["labels"] = Tensor::of<std::int32_t>({1, 9, 4}, {3});
    Arguments arguments = before;
    advance(step, arguments);
    arguments["penalty"] =
        Tensor::scalar<double>(returned(step, before, "total_loss") - returned(step, before, "loss"));
    return arguments;
  };
  Arguments before;
  const Arguments with = stepped(0.05, before), without = stepped(0, before);
  EXPECT_EQ(without.at("penalty").at(0), 0);
  double penalty = 0;
  int slots = 0;
  for (const auto& [name, gradient] : with) {  // the first step's momentum
    if (!name.ends_with("/momentum")) continue;
    const Tensor& w = before.at(name.substr(0, name.size() - std::strlen("/momentum")));
    ++slots;
    for (std::int64_t i = 0; i < w.elements(); ++i) {
      penalty += 0.05 * w.at(i) * w.at(i) / 2;
      EXPECT_NEAR(gradient.at(i) - without.at(name).at(i), 0.05 * w.at(i),
                  1e-6 * std::max(1.0, std::fabs(gradient.at(i))))
          << name;
    }
  }
  EXPECT_GT(slots, 50);
  EXPECT_NEAR(with.at("penalty").at(0), penalty, 1e-5 * penalty);
}

TEST(TrainingStepTest, ParametersThatDoNotDecayStayOutOfThePenalty) {
  // A model with one weight that decays and one bias that does not.
  ModelInfo model = model_named("linear");
  model.build = [](ModelContext& context, const ModelOptions& options) {
    const Value logits = model_named("linear").build(context, options);
    context.parameters.back().decay = false;
    return logits;
  };
  const Step step = build_training_step({.model = &model, .batch_size = 2, .image_size = 2}, {});
  for (const Node& node : step.graph.nodes) {
    if (node.op == "l2_penalty") {
      EXPECT_EQ(node.inputs.size(), 1u);
    } else if (node.name == "linear.weight/update") {
      EXPECT_EQ(node.attributes.real("weight_decay"), 1e-4);
    } else if (node.name == "linear.bias/update") {
      EXPECT_EQ(node.attributes.real("weight_decay"), 0.0);
    }
  }
  EXPECT_EQ(nodes_of(step.graph, "l2_penalty"), 1u);
}

TEST(TrainingStepTest, WithoutDecayTheTotalLossIsTheLoss) {
  const Step step =
      build_training_step({.model = &model_named("linear"), .batch_size = 2, .image_size = 2}, {.weight_decay = 0});
  EXPECT_EQ(step.graph.find_return("loss"), step.graph.find_return("total_loss"));
}

TEST(TrainingStepTest, UniformPredictionsCostTheLogarithmOfTheClasses) {
  for (double smoothing : {0.0, 0.1}) {
    const Step step = build_training_step({.model = &model_named("linear"),
                                           .model_options = {.num_classes = 1000},
                                           .batch_size = 2,
                                           .image_size = 2,
                                           .label_smoothing = smoothing},
                                          {});
    Arguments arguments;
    for (const ParameterSpec& spec : step.parameters) arguments[spec.name] = Tensor::zeros(spec.dtype, spec.shape);
    arguments["images"] = Tensor::zeros(DType::u8, {2, 2, 2, 3});
    arguments["flip"] = Tensor::zeros(DType::u8, {2});
    arguments["labels"] = Tensor::of<std::int32_t>({0, 999}, {2});
    EXPECT_NEAR(returned(step, arguments, "loss"), std::log(1000.0), 1e-5);
    EXPECT_NEAR(returned(step, arguments, "total_loss"), std::log(1000.0), 1e-5);
  }
}

TEST(TrainingStepTest, EvaluationCountsOnlyTheRowsOfTheMask) {
  const Step step = build_evaluation_step({.model = &model_named("linear"),
                                           .model_options = {.num_classes = 3},
                                           .batch_size = 4,
                                           .image_size = 1,
                                           .images = ImageForm::f32,
                                           .label_smoothing = 0});
  // logits = images: the pixel's three channels.
  Arguments arguments = {{"linear.weight", Tensor::of<float>({1, 0, 0, 0, 1, 0, 0, 0, 1}, {3, 3})},
                         {"linear.bias", Tensor::zeros(DType::f32, {3})},
                         {"images", Tensor::of<float>({5, 1, 0, 0, 2, 1, 3, 0, 0, 9, 0, 0}, {4, 1, 1, 3})},
                         {"labels", Tensor::of<std::int32_t>({0, 2, 0, 0}, {4})},
                         {"mask", Tensor::of<float>({1, 1, 1, 0}, {4})}};
  EXPECT_EQ(returned(step, arguments, "rows"), 3);
  EXPECT_EQ(returned(step, arguments, "top_1"), 2);
  EXPECT_EQ(returned(step, arguments, "top_5"), 3);  // top-3 of three classes
  const auto loss = [](double a, double b, double c, double label) {
    return std::log(std::exp(a) + std::exp(b) + std::exp(c)) - label;
  };
  EXPECT_NEAR(returned(step, arguments, "loss_sum"), loss(5, 1, 0, 5) + loss(0, 2, 1, 1) + loss(3, 0, 0, 3), 1e-5);
}

TEST(TrainingStepTest, WrongSettingsAreRefusedBeforeAnythingIsBuilt) {
  const ModelInfo& model = model_named("alexnet");
  EXPECT_THROW(build_training_step({.model = &model, .batch_size = 0}, {}), Error);
  EXPECT_THROW(build_training_step({.model = &model, .image_size = 62}, {}), Error);
  EXPECT_THROW(build_training_step({.model = &model, .label_smoothing = 1.0}, {}), Error);
  EXPECT_THROW(build_training_step({.model = &model}, {.optimizer = optim::Momentum{.momentum = 1.0}}), Error);
  EXPECT_THROW(build_training_step({.model = &model}, {.schedule = optim::WarmupCosine{}}), Error);
}

}  // namespace
}  // namespace ridgeline::nn
