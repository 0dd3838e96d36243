#include "ridgeline/nn/models.h"

#include <gtest/gtest.h>
#include <regex>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "tests/support/paths.h"

namespace ridgeline::nn {
namespace {

template <class F>
std::string message_of(F&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::int64_t trainable_numbers(const std::vector<ParameterSpec>& parameters) {
  std::int64_t count = 0;
  for (const ParameterSpec& spec : parameters) count += spec.trainable() ? spec.shape.elements() : 0;
  return count;
}

const ParameterSpec* find(const std::vector<ParameterSpec>& parameters, const std::string& name) {
  for (const ParameterSpec& spec : parameters) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

// Builds only the model, without the check of the image size.
void build(const ModelInfo& model, std::int64_t image_size) {
  GraphBuilder builder("model");
  std::vector<ParameterSpec> parameters;
  ModelContext context{.builder = builder,
                       .images = builder.input("images", {DType::f32, {2, image_size, image_size, 3}}),
                       .step = {},
                       .parameters = parameters};
  const Value logits = model.build(context, complete_options(model, {}));
  EXPECT_EQ(logits.shape(), (Shape{2, model.classes}));
}

TEST(ModelsTest, ParameterCountsAreThePublishedOnes) {
  const std::pair<const char*, std::int64_t> published[] = {{"alexnet", 61'266'088},
                                                            {"alexnet_torchvision", 61'100'840},
                                                            {"alexnet_mindspore", 60'113'448},
                                                            {"resnet18", 11'689'512},
                                                            {"resnet50", 25'557'032},
                                                            {"mobilenet_v2", 3'504'872},
                                                            {"vgg11", 132'863'336},
                                                            {"vgg16", 138'357'544},
                                                            {"resnet20", 269'722},
                                                            {"densenet121", 7'978'856},
                                                            {"convnext_tiny", 28'589'128},
                                                            {"vit_tiny", 5'717'416}};
  for (const auto& [name, count] : published) {
    const ModelInfo& model = model_named(name);
    EXPECT_EQ(trainable_numbers(parameters_of(model, {}, model.image_size)), count) << name;
    EXPECT_EQ(model.parameters, count) << name;
  }
  for (const ModelInfo& model : all_models()) {
    EXPECT_EQ(trainable_numbers(parameters_of(model, {}, model.image_size)), model.parameters) << model.name;
  }
}

TEST(ModelsTest, EveryModelOfTheFolderHasItsRow) {
  const std::regex made("ModelInfo ([a-z0-9_]+)_info\\(\\) \\{");
  std::size_t found = 0;
  for (const std::string& path : glob_files(testing::source_directory() + "/ridgeline/nn/models/*.cpp")) {
    const std::string text = read_file(path);
    for (auto it = std::sregex_iterator(text.begin(), text.end(), made); it != std::sregex_iterator(); ++it) {
      const std::string name = (*it)[1];
      EXPECT_NE(find_model(name), nullptr) << name << " of " << path << " is missing in nn/models.cpp";
      ++found;
    }
  }
  EXPECT_EQ(found, all_models().size());
}

TEST(ModelsTest, TheLastLayerFollowsTheNumberOfClasses) {
  for (const ModelInfo& model : all_models()) {
    const auto parameters = parameters_of(model, {.num_classes = 7}, model.image_size);
    EXPECT_EQ(parameters.back().shape, (Shape{7})) << model.name;
  }
}

TEST(ModelsTest, TheHeadIsTheLayerThatFollowsTheNumberOfClasses) {
  for (const ModelInfo& model : all_models()) {
    const std::string head = head_of(model);
    const auto few = parameters_of(model, {.num_classes = 3}, model.image_size);
    const auto many = parameters_of(model, {.num_classes = 5}, model.image_size);
    ASSERT_EQ(few.size(), many.size());
    for (std::size_t i = 0; i < few.size(); ++i) {
      const bool follows = few[i].shape != many[i].shape;
      EXPECT_EQ(follows, few[i].name.starts_with(head + ".") || few[i].name.starts_with(head + "/")) << few[i].name;
    }
  }
}

TEST(ModelsTest, NamesAreTheOriginals) {
  const auto alexnet = parameters_of(model_named("alexnet"), {}, 224);
  ASSERT_EQ(alexnet.size(), 16u);
  EXPECT_EQ(alexnet[0].name, "conv2d/kernel");
  EXPECT_EQ(alexnet[0].shape, (Shape{96, 11, 11, 3}));
  EXPECT_EQ(alexnet[9].name, "conv2d_4/bias");
  EXPECT_EQ(alexnet[10].name, "dense/kernel");
  EXPECT_EQ(alexnet[10].shape, (Shape{4096, 9216}));
  EXPECT_EQ(alexnet[15].name, "dense_2/bias");

  const auto torchvision = parameters_of(model_named("alexnet_torchvision"), {}, 224);
  for (const char* name : {"features.0.weight", "features.3.bias", "features.6.weight", "features.8.weight",
                           "features.10.bias", "classifier.1.weight", "classifier.4.bias", "classifier.6.weight"}) {
    EXPECT_NE(find(torchvision, name), nullptr) << name;
  }
  const auto resnet50 = parameters_of(model_named("resnet50"), {}, 224);
  EXPECT_EQ(resnet50.size(), 267u);  // len(state_dict) is 320 with 53 num_batches_tracked
  ASSERT_NE(find(resnet50, "layer2.0.downsample.0.weight"), nullptr);
  EXPECT_EQ(find(resnet50, "layer4.2.bn3.running_var")->shape, (Shape{2048}));
  EXPECT_EQ(find(resnet50, "layer2.0.conv2.weight")->shape, (Shape{128, 3, 3, 128}));
  const auto resnet18 = parameters_of(model_named("resnet18"), {}, 224);
  EXPECT_EQ(resnet18.size(), 102u);  // 122 with 20 num_batches_tracked
  const auto vgg11 = parameters_of(model_named("vgg11"), {}, 224);
  for (const char* name : {"features.0.weight", "features.3.weight", "features.6.weight", "features.8.weight",
                           "features.11.weight", "features.13.weight", "features.16.weight", "features.18.bias",
                           "classifier.0.weight", "classifier.3.weight", "classifier.6.bias"}) {
    EXPECT_NE(find(vgg11, name), nullptr) << name;
  }
}

TEST(ModelsTest, ImagesTooSmallForTheChainAreRefused) {
  EXPECT_EQ(message_of([] { check_image_size(model_named("alexnet"), 48); }),
            "[alexnet] image size 48 is too small: the pooling chain needs at least 63");
  EXPECT_EQ(smallest_image_size(model_named("alexnet_torchvision")), 63);
  EXPECT_EQ(smallest_image_size(model_named("vgg11")), 32);
  EXPECT_EQ(smallest_image_size(model_named("resnet18")), 1);
  for (const ModelInfo& model : all_models()) {
    EXPECT_NE(message_of([&] { check_image_size(model, 0); }), "") << model.name;
  }
}

TEST(ModelsTest, TheSmallestSizeIsWhatTheOpsAllow) {
  for (const ModelInfo& model : all_models()) {
    const int smallest = smallest_image_size(model);
    EXPECT_EQ(message_of([&] { build(model, smallest); }), "") << model.name;
    if (smallest > 1) {
      EXPECT_NE(message_of([&] { build(model, smallest - 1); }), "") << model.name;
    }
  }
}

TEST(ModelsTest, OptionsThatAModelDoesNotHaveAreRefused) {
  const ModelInfo& alexnet = model_named("alexnet");
  EXPECT_EQ(message_of([&] { complete_options(alexnet, {.init = "he_normal"}); }),
            "[alexnet] unknown alexnet_version 'he_normal' (allowed: he_uniform, xavier, he_uniform_custom)");
  EXPECT_EQ(complete_options(alexnet, {}).init, "he_uniform");
  EXPECT_EQ(complete_options(alexnet, {}).num_classes, 1000);
  EXPECT_TRUE(*complete_options(alexnet, {}).final_relu);
  EXPECT_FALSE(*complete_options(alexnet, {.final_relu = false}).final_relu);
  EXPECT_NE(message_of([&] { complete_options(alexnet, {.dropout_keep = 0.0}); }), "");
  EXPECT_NE(message_of([&] { complete_options(alexnet, {.num_classes = -1}); }), "");
  EXPECT_NE(message_of([] { complete_options(model_named("resnet18"), {.dropout_keep = 0.5}); }), "");
  EXPECT_NE(message_of([] { complete_options(model_named("vgg11"), {.final_relu = true}); }), "");
  EXPECT_EQ(message_of([] { model_named("resnet81"); }),
            "unknown model 'resnet81': did you mean 'resnet18'? (allowed: alexnet, alexnet_mindspore, "
            "alexnet_torchvision, convnext_tiny, densenet121, mobilenet_v2, "
            "resnet18, resnet20, resnet50, vgg11, vgg16, vit_tiny, linear)");
  EXPECT_EQ(find_model("resnet81"), nullptr);
}

TEST(ModelsTest, EvaluationTransformsAreThoseOfTheOriginals) {
  const EvaluationTransform faithful = evaluation_transform(model_named("alexnet"), 224);
  EXPECT_EQ(faithful.rule, ResizeRule::exact);
  EXPECT_EQ(faithful.resize, 256);
  EXPECT_EQ(faithful.crop, 224);
  EXPECT_EQ(evaluation_transform(model_named("resnet50"), 224).rule, ResizeRule::short_side);
  EXPECT_EQ(evaluation_transform(model_named("alexnet"), 64).resize, 73);
  const EvaluationTransform cifar = evaluation_transform(model_named("resnet20"), 32);
  EXPECT_EQ(cifar.resize, 32);
  EXPECT_EQ(cifar.crop, 32);
}

}  // namespace
}  // namespace ridgeline::nn
