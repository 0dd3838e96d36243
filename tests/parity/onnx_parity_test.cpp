// Every model as an ONNX file passes onnx's checker and has our logits in onnxruntime, with another batch size than the
// graph was built for. RIDGELINE_ONNX_PYTHON is an interpreter with onnx and onnxruntime.
#include <gtest/gtest.h>

#include <cmath>

#include "ridgeline/core/random.h"
#include "ridgeline/infer/onnx.h"
#include "ridgeline/infer/predictor.h"
#include "ridgeline/nn/layers.h"
#include "ridgeline/nn/prediction_model.h"
#include "tests/parity/torch.h"
#include "tests/support/paths.h"

namespace ridgeline::nn {
namespace {

constexpr std::int64_t kRows = 3;

Tensor images_of(ImageForm form, std::int64_t size) {
  SampleRandom random(philox_key(20, "onnx images"), 0, 0);
  Tensor images(form == ImageForm::u8 ? DType::u8 : DType::f32, {kRows, size, size, 3});
  for (std::int64_t i = 0; i < images.elements(); ++i)
    images.set(i, form == ImageForm::u8 ? static_cast<double>(random.integer(0, 255)) : random.normal());
  return images;
}

Tensor planes_of(const Tensor& images) {
  if (images.dtype() == DType::u8) return images;
  const Shape& s = images.shape();
  Tensor planes(DType::f32, {s[0], s[3], s[1], s[2]});
  for (std::int64_t n = 0; n < s[0]; ++n)
    for (std::int64_t p = 0; p < s[1] * s[2]; ++p)
      for (std::int64_t c = 0; c < s[3]; ++c)
        planes.set((n * s[3] + c) * s[1] * s[2] + p, images.at((n * s[1] * s[2] + p) * s[3] + c));
  return planes;
}

class OnnxParity : public ::testing::TestWithParam<std::string> {};

TEST_P(OnnxParity, TheOfficialRuntimeGivesOurLogits) {
  const char* python = std::getenv("RIDGELINE_ONNX_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "RIDGELINE_ONNX_PYTHON names no interpreter with onnx and onnxruntime";
  const ModelInfo& info = model_named(GetParam());
  // One size that every pool divides, and one for which adaptive pooling uses slices.
  for (const std::int64_t size :
       {std::int64_t{info.image_size}, std::int64_t{std::max(info.image_size / 2 + 15, 40)}}) {
    for (const ImageForm form : {ImageForm::u8, ImageForm::f32}) {
      StepOptions options{.model = &info, .batch_size = 1, .image_size = size, .images = form};
      options.model_options.num_classes = 11;
      const Step step = build_prediction_step(options);
      infer::Model model{.name = GetParam(), .graph = step.graph, .tensors = {}};
      for (const ParameterSpec& spec : step.parameters) {
        Tensor value = initialize(spec, 5);
        // Depthwise kernels are initialised so small that, without training, almost nothing of the image passes
        // through.
        if (spec.shape.rank() == 4 && spec.shape[3] == 1)
          for (std::int64_t i = 0; i < value.elements(); ++i)
            value.set(i, value.at(i) * std::sqrt(static_cast<double>(spec.shape[0])));
        // A head that begins at zero.
        if (spec.shape.rank() == 2 && spec.init.rule == Init::Rule::constant)
          for (std::int64_t i = 0; i < value.elements(); ++i) value.set(i, 0.02 * static_cast<double>(i % 17 - 8));
        // Different from those of a new model, and such that not every unit is dead.
        if (spec.name.ends_with("running_mean"))
          for (std::int64_t i = 0; i < value.elements(); ++i) value.set(i, 0.02 * static_cast<double>(i % 11 - 5));
        if (spec.name.ends_with("running_var"))
          for (std::int64_t i = 0; i < value.elements(); ++i) value.set(i, 0.7 + 0.05 * static_cast<double>(i % 13));
        model.tensors.push_back({spec.name, value});
      }
      const Tensor images = images_of(form, size);
      const testing::TemporaryFolder folder;
      infer::write_onnx(folder.file("m.onnx"), model);
      write_safetensors(folder.file("input.safetensors"), {{"images", planes_of(images)}});
      const std::string command = std::string("'") + python + "' '" + testing::source_directory() +
                                  "/tests/parity/onnx_logits.py' '" + folder.file("m.onnx") + "' '" +
                                  folder.file("input.safetensors") + "' '" + folder.file("output.safetensors") +
                                  "' > '" + folder.file("log") + "' 2>&1";
      ASSERT_EQ(std::system(command.c_str()), 0) << read_file(folder.file("log"));
      const SafetensorsFile theirs(folder.file("output.safetensors"));
      infer::Predictor predictor(model, {.batch_size = 2});
      const infer::Prediction ours = predictor.predict(images);
      double largest = 0, difference = 0, spread = 0;
      ASSERT_EQ(ours.logits.shape(), theirs.tensor("logits").shape());
      for (std::int64_t i = 0; i < ours.logits.elements(); ++i) {
        largest = std::max(largest, std::fabs(ours.logits.at(i)));
        spread = std::max(spread, std::fabs(ours.logits.at(i) - ours.logits.at(i % 11)));
        difference = std::max(difference, std::fabs(ours.logits.at(i) - theirs.tensor("logits").at(i)));
        EXPECT_NEAR(ours.probabilities.at(i), theirs.tensor("probabilities").at(i), 1e-4);
      }
      EXPECT_GT(spread, 1e-3 * largest) << "the images make no difference";
      EXPECT_LE(difference, 1e-4 * std::max(1.0, largest)) << GetParam() << " " << size;
      std::printf("%s %d %s: logits up to %.3f, largest difference %.1e\n", GetParam().c_str(), static_cast<int>(size),
                  form == ImageForm::u8 ? "u8" : "f32", largest, difference);
    }
  }
}

// Features that no built-in model has: group norm, silu, a transposed convolution with every option, slices of
// channels, a product of transposed matrices, means over axes.
void own_prediction(ModelContext& context) {
  const Value images = context.builder.input("images", {DType::f32, {2, 12, 12, 3}});
  Value x = conv_layer(context, images, {.name = "in", .out = 12, .kernel = 3, .pad = 1});
  x = activate(group_norm_layer(context, x, {.name = "norm", .groups = 3}), Activation::silu);
  x = conv_transpose_layer(context, x,
                           {.name = "up",
                            .out = 8,
                            .kernel = {3, 2},
                            .stride = {2, 3},
                            .pad = {1, 1, 0, 0},
                            .output_pad = {1, 2},
                            .dilation = {2, 1},
                            .groups = 2});
  const std::vector<Value> parts = split(x, -1, {5, 3});
  x = concat({parts[1], relu(parts[0])}, 3);
  x = concat({x, layer_norm_layer(context, x, {.name = "inside"})}, -1);
  const Value pixels = reshape(x, {2, x.shape()[1] * x.shape()[2], 16});
  const Value products = matmul(pixels, pixels, {.transpose_a = true}) * (1.0 / static_cast<double>(pixels.shape()[1]));
  const Value shares = softmax(products, 1);
  x = mean(transpose(attention(pixels, products, shares), {0, 2, 1}), {.axes = {-1}});
  const Value logits = linear_layer(context, x, {.name = "out", .out = 11});
  context.builder.returns(infer::kProbabilities, softmax(logits));
  context.builder.returns(infer::kLogits, logits);
}

TEST(OnnxParityOfOps, TheOfficialRuntimeGivesOurLogitsOfANetworkOfOnesOwn) {
  const char* python = std::getenv("RIDGELINE_ONNX_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "RIDGELINE_ONNX_PYTHON names no interpreter with onnx and onnxruntime";
  const Step step = build_prediction_step(Network{.name = "own", .loss = {}, .predict = own_prediction});
  infer::Model model{.name = "own", .graph = step.graph, .tensors = {}};
  for (const ParameterSpec& spec : step.parameters) model.tensors.push_back({spec.name, initialize(spec, 5)});
  const Tensor images = images_of(ImageForm::f32, 12);
  const testing::TemporaryFolder folder;
  infer::write_onnx(folder.file("m.onnx"), model);
  write_safetensors(folder.file("input.safetensors"), {{"images", planes_of(images)}});
  const std::string command = std::string("'") + python + "' '" + testing::source_directory() +
                              "/tests/parity/onnx_logits.py' '" + folder.file("m.onnx") + "' '" +
                              folder.file("input.safetensors") + "' '" + folder.file("output.safetensors") + "' > '" +
                              folder.file("log") + "' 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << read_file(folder.file("log"));
  const SafetensorsFile theirs(folder.file("output.safetensors"));
  infer::Predictor predictor(model, {.batch_size = 2});
  const Tensor ours = predictor.predict(images).logits;
  ASSERT_EQ(ours.shape(), theirs.tensor("logits").shape());
  double spread = 0;
  for (std::int64_t i = 0; i < ours.elements(); ++i) {
    EXPECT_NEAR(ours.at(i), theirs.tensor("logits").at(i), 1e-5);
    spread = std::max(spread, std::fabs(ours.at(i) - ours.at(i % 11)));
  }
  EXPECT_GT(spread, 1e-3) << "the images make no difference";
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const ModelInfo& model : all_models()) names.emplace_back(model.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, OnnxParity, ::testing::ValuesIn(names()), [](const auto& p) { return p.param; });

}  // namespace
}  // namespace ridgeline::nn
