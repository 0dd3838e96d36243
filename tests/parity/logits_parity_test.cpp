// Models with weights that PyTorch initialised and saved under torchvision's names: the same logits here.
#include <gtest/gtest.h>

#include <cmath>

#include "ridgeline/core/random.h"
#include "ridgeline/infer/predictor.h"
#include "ridgeline/nn/prediction_model.h"
#include "tests/parity/torch.h"

namespace ridgeline::nn {
namespace {

void compare_logits(const std::string& name, std::int64_t image_size) {
  if (testing::torch_python() == nullptr) GTEST_SKIP() << testing::kNoTorch;
  const ModelInfo& info = model_named(name);
  Tensor images(DType::f32, {2, image_size, image_size, 3});
  SampleRandom random(philox_key(20, "parity images"), 0, 0);
  for (float& v : images.span<float>()) v = static_cast<float>(random.normal());
  const testing::TemporaryFolder folder;
  write_safetensors(folder.file("input.safetensors"), {{"images", images}},
                    {{"model", name}, {"classes", std::to_string(info.classes)}});
  ASSERT_EQ(testing::run_torch("torch_logits.py", folder), "");
  const SafetensorsFile torch(folder.file("output.safetensors"));
  const infer::Model model =
      prediction_model({.model = &info, .batch_size = 2, .image_size = image_size, .images = ImageForm::f32},
                       torch.tensors(), {.where = "[test]"});
  infer::Predictor predictor(model);
  const Tensor logits = predictor.predict(images).logits;
  const Tensor& expected = torch.tensor("logits");
  ASSERT_EQ(logits.shape(), expected.shape());
  double largest = 0, difference = 0;
  for (std::int64_t i = 0; i < logits.elements(); ++i) {
    largest = std::max(largest, std::fabs(expected.at(i)));
    difference = std::max(difference, std::fabs(logits.at(i) - expected.at(i)));
  }
  double apart = 0;  // of the two images, since with equal images biases alone would agree
  for (std::int64_t c = 0; c < info.classes; ++c)
    apart = std::max(apart, std::fabs(expected.at(c) - expected.at(info.classes + c)));
  EXPECT_GT(apart, 100 * difference) << "weights that give nothing of the image";
  // ResNet-50 has the most layers, so the most rounding: 7e-5, and 2e-5 with only the library's kernels.
  EXPECT_LE(difference, 1e-4 * largest) << name;
  std::printf("%s: logits up to %.3f, largest difference %.1e\n", name.c_str(), largest, difference);
}

TEST(LogitsParity, AlexNet) { compare_logits("alexnet_torchvision", 224); }
TEST(LogitsParity, Resnet18) { compare_logits("resnet18", 224); }
TEST(LogitsParity, Resnet50) { compare_logits("resnet50", 224); }
TEST(LogitsParity, MobileNetV2) { compare_logits("mobilenet_v2", 224); }
TEST(LogitsParity, Vgg11) { compare_logits("vgg11", 64); }
TEST(LogitsParity, Vgg16) { compare_logits("vgg16", 64); }

}  // namespace
}  // namespace ridgeline::nn
