// First layers by tensor cores: host versions beside the reference.
#include <gtest/gtest.h>

#include "ridgeline/compile/compile.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/nn/module.h"
#include "ridgeline/nn/training_step.h"
#include "tests/device/cuda/device_support.h"
#include "tests/device/cuda/op_support.h"

namespace ridgeline::cuda::testing {
namespace {

// A sum in another order may round to the neighbour: two halves of the spacing.
constexpr double kBand = 2.1;
constexpr double kWideBand = 256;  // of sums of some thousand products in f32

struct FirstLayerCase {
  DirectShape s;
  Attributes attributes;
  Shape image, weight, result;
};

FirstLayerCase first_layer_case(DirectShape s, std::int64_t bottom, std::int64_t right) {
  FirstLayerCase c;
  s.oh = (s.h + s.top + bottom - s.r) / s.stride_h + 1;
  s.ow = (s.w + s.left + right - s.s) / s.stride_w + 1;
  c.s = s;
  c.attributes = {{"stride", Integers{s.stride_h, s.stride_w}},
                  {"pad", Integers{s.top, bottom, s.left, right}},
                  {"groups", std::int64_t{1}}};
  c.image = {s.n, s.h, s.w, s.c};
  c.weight = {s.k, s.r, s.s, s.c};
  c.result = {s.n, s.oh, s.ow, s.k};
  return c;
}

// Odd sizes, padding on each side, images smaller than a tile and wider than one.
FirstLayerCase random_first_layer(Values& values, DType type) {
  DirectShape s{};
  s.type = s.result = type;
  s.n = values.pick({1, 2});
  s.c = values.pick({1, 2, 3, 3, 4});
  s.k = values.pick({8, 24, 64, 96, 128});
  s.r = values.pick({1, 3, 7, 11});
  s.s = values.pick({1, 3, 5, 7, 11});
  s.h = s.r + values.pick({0, 1, 6, 11});
  s.w = s.s + values.pick({0, 1, 5, 16, 67});
  s.stride_h = values.pick({1, 2, 3, 4});
  s.stride_w = values.pick({1, 2, 3, 4});
  s.top = values.pick({0, 1, 3});
  s.left = values.pick({0, 1, 2, 3});
  return first_layer_case(s, values.pick({0, 1, 3}), values.pick({0, 2, 3}));
}

// Forward with a bias of either type, and the weights' gradient in either.
void expect_first_layer(Values& values, DType type, const FirstLayerCase& c) {
  ASSERT_TRUE(is_first_layer(c.s));
  SCOPED_TRACE("image " + c.image.to_string() + " weight " + c.weight.to_string());
  const bool with_bias = values.coin(), wide = values.coin(), relu = values.coin();
  const Tensor x = values.uniform(type, c.image), w = values.uniform(type, c.weight);
  const Tensor bias = values.uniform(wide ? DType::f32 : type, {c.s.k});
  std::vector<Tensor> inputs = {x, w};
  if (with_bias) inputs.push_back(bias);
  Attributes forward = c.attributes;
  forward.set("activation", std::string(relu ? "relu" : "none"));
  Epilogue e{};
  if (with_bias) e.bias = bias.raw();
  e.bias_type = bias.dtype();
  e.relu = relu;
  Tensor y = noise(type, c.result);
  auto memory = scratch(first_layer_scratch(c.s));
  first_layer(run_on_host, c.s, x.raw(), w.raw(), e, y.raw(), memory.data());
  EXPECT_EQ(outside_band(y, reference_of("conv2d", inputs, forward)[0], kBand, 1), "");
  const Tensor dy = values.uniform(type, c.result);
  for (const bool f32_results : {false, true}) {
    DirectShape s = c.s;
    if (f32_results) s.result = DType::f32;
    Attributes backward = c.attributes;
    backward.set("kernel", Integers{s.r, s.s});
    backward.set("f32_results", f32_results);
    Tensor dw = noise(s.result, c.weight);
    auto sums = scratch(first_layer_gradient_scratch(s));
    first_layer_gradient(run_on_host, s, x.raw(), dy.raw(), dw.raw(), sums.data());
    EXPECT_EQ(
        outside_band(dw, reference_of("conv2d_bwd_weights", {x, dy}, backward)[0], f32_results ? kWideBand : kBand, 1),
        "");
  }
}

TEST(CudaFirstLayers, GiveTheReferencesResults) {
  for (int round = 0; round < 40; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = round % 2 == 0 ? DType::bf16 : DType::f16;
    SCOPED_TRACE(round);
    expect_first_layer(values, type, random_first_layer(values, type));
  }
}

TEST(CudaFirstLayers, GiveTheReferencesResultsWithMoreTilesThanBlocks) {
  for (const std::int64_t side : {3, 7, 11}) {
    Values values(static_cast<unsigned>(side));
    DirectShape s{};
    s.type = s.result = DType::f16;
    s.n = side == 3 ? 500 : side == 7 ? 300 : 100;
    s.c = 3;
    s.k = 8;
    s.r = s.s = side;
    s.h = s.w = side + 2;
    s.stride_h = s.stride_w = side == 7 ? 2 : 1;
    s.top = s.left = 1;
    expect_first_layer(values, s.type, first_layer_case(s, 1, 1));
  }
}

TEST(CudaFirstLayers, AreOnesOfFewChannelsWithoutGroupsOrDilation) {
  DirectShape s{};
  s.type = s.result = DType::bf16;
  s.n = 2, s.h = s.w = 32, s.oh = s.ow = 30, s.c = 3, s.k = 64, s.r = s.s = 3;
  ASSERT_TRUE(is_first_layer(s));
  const auto refused = [&](auto change) {
    DirectShape other = s;
    change(other);
    return !is_first_layer(other);
  };
  EXPECT_TRUE(refused([](DirectShape& o) { o.type = DType::f32; }));
  EXPECT_TRUE(refused([](DirectShape& o) { o.c = 5; }));
  EXPECT_TRUE(refused([](DirectShape& o) { o.k = 60; }));
  EXPECT_TRUE(refused([](DirectShape& o) { o.k = 264; }));
  EXPECT_TRUE(refused([](DirectShape& o) { o.groups = 3; }));
  EXPECT_TRUE(refused([](DirectShape& o) { o.dilation_w = 2; }));
  EXPECT_TRUE(refused([](DirectShape& o) { o.r = 13; }));
  EXPECT_TRUE(refused([](DirectShape& o) { o.stride_h = 5; }));
  EXPECT_TRUE(refused([](DirectShape& o) { o.w = 20002, o.ow = 20000; }));  // a row is larger than shared memory
}

// With biases and gradients in f32, as mixed precision has them.
TEST(CudaFirstLayers, TakeTheFirstLayersOfTheModelsBothWays) {
  add_recording_device();
  for (const char* model : {"alexnet_torchvision", "vgg11", "resnet18", "mobilenet_v2"}) {
    SCOPED_TRACE(model);
    nn::StepOptions options;
    options.model = &nn::model_named(model);
    options.model_options.num_classes = 10;
    options.batch_size = 2;
    options.image_size = 64;
    const nn::Step step = nn::build_training_step(options, {.schedule = optim::Constant{0.01}});
    Session session({.device = "cuda_recording"});
    for (const nn::ParameterSpec& spec : step.parameters)
      session.parameters().set(spec.name, Tensor::zeros(spec.dtype, spec.shape), spec.kind());
    const auto program = compile(step.graph, session,
                                 {.precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"))});
    std::vector<std::string> taken;
    for (const LaunchReport& launch : program->launches()) {
      if (launch.kernel.find("first_layer") != std::string::npos) taken.push_back(launch.op);
    }
    EXPECT_EQ(taken, (std::vector<std::string>{"conv2d", "conv2d_bwd_weights"}));
  }
}

}  // namespace
}  // namespace ridgeline::cuda::testing
