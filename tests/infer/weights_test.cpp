#include "ridgeline/infer/weights.h"

#include <gtest/gtest.h>
#include <cstdlib>
#include <cstring>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/graph/op/evaluate.h"
#include "ridgeline/image/png/png.h"
#include "ridgeline/nn/training_step.h"

namespace ridgeline::nn {
namespace {

const ParameterSpec kKernel{"features.0.weight", {2, 3, 1, 4}, zeros()};

TEST(WeightsTest, KernelsAreStoredChannelsFirst) {
  EXPECT_EQ(file_shape(kKernel), (Shape{2, 4, 3, 1}));
  Tensor logical(DType::f32, kKernel.shape);
  for (std::int64_t i = 0; i < logical.elements(); ++i) logical.set(i, static_cast<double>(i));
  const Tensor stored = to_file(kKernel, logical);
  // [k=1, r=2, s=0, c=3] and [o=1, i=3, h=2, w=0]
  EXPECT_EQ(stored.at(((1 * 4 + 3) * 3 + 2) * 1 + 0), logical.at(((1 * 3 + 2) * 1 + 0) * 4 + 3));
  const Tensor back = from_file(kKernel, stored);
  EXPECT_EQ(back.shape(), kKernel.shape);
  EXPECT_EQ(std::memcmp(back.raw(), logical.raw(), logical.byte_size()), 0);
}

TEST(WeightsTest, HalfPrecisionFilesAreConverted) {
  const ParameterSpec spec{"fc.bias", {2}, zeros()};
  Tensor half(DType::f16, {2});
  half.set(0, 0.5);
  half.set(1, -3.0);
  const Tensor loaded = from_file(spec, half);
  EXPECT_EQ(loaded.dtype(), DType::f32);
  EXPECT_EQ(loaded.at(1), -3.0);
  EXPECT_THROW(from_file(spec, Tensor::zeros(DType::i32, {2})), Error);
}

TEST(WeightsTest, EveryTensorIsAccountedFor) {
  const std::vector<ParameterSpec> wanted = {{"conv1.weight", {4, 3, 3, 3}, zeros()},
                                             {"fc.weight", {10, 8}, zeros()},
                                             {"fc.bias", {10}, zeros()},
                                             {"fcx.bias", {1}, zeros()},
                                             {"bn.weight", {4}, zeros()}};
  const std::vector<NamedTensor> stored = {{"module.conv1.weight", Tensor::zeros(DType::f32, {4, 3, 3, 3})},
                                           {"module.fc.weight", Tensor::zeros(DType::f32, {1000, 8})},
                                           {"module.fc.bias", Tensor::zeros(DType::f32, {10})},
                                           {"module.bn1.num_batches_tracked", Tensor::zeros(DType::i64, {})},
                                           {"module.extra", Tensor::zeros(DType::f32, {1})},
                                           {"fcx.bias", Tensor::zeros(DType::f32, {1})}};
  const WeightMatch match = match_weights(wanted, stored);
  EXPECT_EQ(match.loaded, (std::vector<std::string>{"conv1.weight", "fc.bias", "fcx.bias"}));
  EXPECT_EQ(match.missing, (std::vector<std::string>{"bn.weight"}));
  EXPECT_EQ(match.unexpected, (std::vector<std::string>{"module.extra"}));
  EXPECT_EQ(match.mismatched, (std::vector<std::string>{"fc.weight: the file has f32[1000,8], the model f32[10,8]"}));

  const std::vector<std::string> exclude = {"fc"};
  const WeightMatch without = match_weights(wanted, stored, exclude);
  EXPECT_EQ(without.excluded, (std::vector<std::string>{"fc.weight", "fc.bias"}));
  EXPECT_EQ(without.loaded, (std::vector<std::string>{"conv1.weight", "fcx.bias"}));
  EXPECT_TRUE(without.mismatched.empty());
}

TEST(WeightsTest, TheScopeOfARecipeIsExcludedByItsName) {
  const std::vector<std::string> exclude = {"dense_2"};
  const auto wanted = parameters_of(model_named("alexnet"), {.num_classes = 5}, 64);
  std::vector<NamedTensor> stored;
  for (const ParameterSpec& spec : wanted) {
    if (spec.name.starts_with("dense_2")) stored.push_back({spec.name, Tensor::zeros(DType::f32, {1})});
  }
  const WeightMatch match = match_weights(wanted, stored, exclude);
  EXPECT_EQ(match.excluded, (std::vector<std::string>{"dense_2/kernel", "dense_2/bias"}));
  EXPECT_EQ(match.missing.size(), 14u);
}

TEST(WeightsTest, PublishedResnet20GivesItsPublishedLogits) {
  const char* root = std::getenv("RIDGELINE_TEST_DATA");
  if (root == nullptr) GTEST_SKIP() << "RIDGELINE_TEST_DATA is not set: no weights of ResNet-20";
  const std::string pack = std::string(root) + "/packA/";
  const ModelInfo& model = model_named("resnet20");
  const Step step = build_prediction_step({.model = &model, .batch_size = 1});
  const SafetensorsFile file(pack + "derived/resnet20-cifar10.safetensors");
  const WeightMatch match = match_weights(step.parameters, file.tensors());
  EXPECT_EQ(match.loaded.size(), step.parameters.size());
  EXPECT_TRUE(match.missing.empty() && match.unexpected.empty() && match.mismatched.empty());

  // Row r of the sheet is image r, its 1024 pixels in order.
  const std::string png = read_file(pack + "cifar10/lossless/cifar10_batch_50.png");
  const image::Image sheet = image::decode_png({reinterpret_cast<const std::uint8_t*>(png.data()), png.size()});
  ASSERT_EQ(sheet.width(), 1024);
  Tensor images(DType::u8, {1, 32, 32, 3});
  std::memcpy(images.raw(), sheet.view().row(0), images.byte_size());
  Arguments arguments = {{"images", images}};
  for (const auto& [name, tensor] : match.tensors) arguments[name] = tensor;
  const std::vector<Tensor> results = evaluate_returns(step.graph, arguments);
  ASSERT_EQ(step.graph.returns[1].name, "logits");
  const double published[] = {-5.3097, -0.4958, 0.8773, 23.7305, -4.1050, 4.4637, -0.2343, -5.4179, -3.7118, -9.8822};
  for (std::int64_t k = 0; k < 10; ++k) EXPECT_NEAR(results[1].at(k), published[k], 1e-3) << k;
}

}  // namespace
}  // namespace ridgeline::nn
