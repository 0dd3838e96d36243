// Direct and depthwise convolutions and products: host versions beside the reference.
#include <gtest/gtest.h>

#include "ridgeline/device/cuda/kernels/launches.h"
#include "tests/device/cuda/op_support.h"

namespace ridgeline::cuda::testing {
namespace {

constexpr int kRounds = 45;

struct ConvolutionCase {
  DirectShape s;
  Attributes attributes;
  Shape image, weight, result;
};

ConvolutionCase random_convolution(Values& values, DType type, bool plain) {
  ConvolutionCase c;
  DirectShape& s = c.s;
  s.type = type;
  s.result = values.coin() ? type : DType::f32;
  s.n = values.pick({1, 2});
  s.h = values.pick({3, 5, 8});
  s.w = values.pick({4, 7, 9});
  s.groups = plain ? values.pick({1, 3, 4, 8, 36}) : values.pick({1, 2});
  s.c = plain ? s.groups : s.groups * values.pick({1, 3, 8});
  s.k = plain ? s.groups : s.groups * values.pick({1, 4});
  s.r = plain ? 3 : values.pick({1, 3});
  s.s = plain ? 3 : values.pick({1, 2, 3});
  s.stride_h = values.pick({1, 2});
  s.stride_w = values.pick({1, 2, 3});
  s.dilation_h = plain || s.h == 3 ? 1 : values.pick({1, 2});
  s.top = values.pick({0, 1});
  s.left = values.pick({0, 1, 2});
  const std::int64_t bottom = values.pick({0, 2}), right = values.pick({0, 1});
  s.oh = (s.h + s.top + bottom - (s.dilation_h * (s.r - 1) + 1)) / s.stride_h + 1;
  s.ow = (s.w + s.left + right - s.s) / s.stride_w + 1;
  c.attributes = {{"stride", Integers{s.stride_h, s.stride_w}},
                  {"pad", Integers{s.top, bottom, s.left, right}},
                  {"dilation", Integers{s.dilation_h, 1}},
                  {"groups", s.groups},
                  {"f32_results", false}};
  c.image = {s.n, s.h, s.w, s.c};
  c.weight = {s.k, s.r, s.s, s.c / s.groups};
  c.result = {s.n, s.oh, s.ow, s.k};
  return c;
}

void expect_convolution(int round, bool plain) {
  Values values(static_cast<unsigned>(round));
  const DType type = kStorageTypes[round % 3];
  ConvolutionCase c = random_convolution(values, type, plain);
  if (plain) c.s.result = type;
  const bool f32_results = c.s.result != type;
  ASSERT_EQ(is_depthwise(c.s), plain || (c.s.groups == c.s.c && c.s.k == c.s.c && c.s.r == 3 && c.s.s == 3 && c.s.dilation_h == 1));
  c.attributes.set("f32_results", f32_results);
  const bool with_bias = values.coin(), wide = values.coin(), addend = !plain && values.coin(), relu = values.coin();
  const Tensor x = values.uniform(type, c.image), w = values.uniform(type, c.weight), dy = values.uniform(type, c.result);
  const Tensor bias = values.uniform(wide ? DType::f32 : type, {c.s.k}), more = values.uniform(c.s.result, c.result);
  const Tensor gate = values.special(c.s.result, c.image);
  std::vector<Tensor> inputs = {x, w};
  if (with_bias || addend) inputs.push_back(bias);
  if (addend) inputs.push_back(more);
  Attributes forward = c.attributes;
  forward.set("activation", std::string(relu ? "relu" : "none"));
  Epilogue e{};
  if (inputs.size() > 2) e.bias = bias.raw();
  e.bias_type = bias.dtype();
  if (addend) e.addend = more.raw();
  e.relu = relu;
  Tensor y = noise(c.s.result, c.result), dx = noise(c.s.result, c.image), dw = noise(c.s.result, c.weight);
  if (plain) {
    depthwise(run_on_host, c.s, x.raw(), w.raw(), e, y.raw());
    depthwise_data_gradient(run_on_host, c.s, dy.raw(), w.raw(), gate.raw(), dx.raw());
    auto memory = scratch(depthwise_weight_gradient_scratch(c.s));
    depthwise_weight_gradient(run_on_host, c.s, x.raw(), dy.raw(), dw.raw(), memory.data());
  } else {
    direct_convolution(run_on_host, c.s, x.raw(), w.raw(), e, y.raw());
    direct_data_gradient(run_on_host, c.s, dy.raw(), w.raw(), f32_results ? nullptr : gate.raw(), dx.raw());
    direct_weight_gradient(run_on_host, c.s, x.raw(), dy.raw(), dw.raw());
  }
  SCOPED_TRACE(std::to_string(round) + " image " + c.image.to_string() + " weight " + c.weight.to_string());
  const double band = c.s.result == DType::f32 ? 64 : 1.1;
  EXPECT_EQ(outside_band(y, reference_of("conv2d", inputs, forward)[0], band, 1), "");
  Attributes data = c.attributes;
  data.set("input", c.image.dims());
  EXPECT_EQ(outside_band(dx, reference_of("conv2d_bwd_data", f32_results ? std::vector{dy, w} : std::vector{dy, w, gate}, data)[0], band, 1), "");
  Attributes weights = c.attributes;
  weights.set("kernel", Integers{c.s.r, c.s.s});
  EXPECT_EQ(outside_band(dw, reference_of("conv2d_bwd_weights", {x, dy}, weights)[0], band, 1), "");
}

TEST(CudaConvolutions, DirectOnesGiveTheReferencesResultsThreeWays) {
  for (int round = 0; round < kRounds; ++round) expect_convolution(round, false);
}

TEST(CudaConvolutions, DepthwiseOnesGiveTheReferencesResultsThreeWays) {
  for (int round = 0; round < kRounds; ++round) expect_convolution(round, true);
}

TEST(CudaProducts, DirectOnesGiveTheReferencesResultsThreeWays) {
  for (int round = 0; round < kRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    const std::int64_t n = values.pick({1, 7, 33}), c = values.pick({1, 5, 70}), k = values.pick({1, 9, 40});
    const Tensor x = values.uniform(type, {n, c}), w = values.uniform(type, {k, c}), dy = values.uniform(type, {n, k});
    const Tensor bias = values.uniform(type, {k});
    const double band = type == DType::f32 ? 64 : 1.1;
    Tensor y = noise(type, {n, k}), dx = noise(type, {n, c}), dw = noise(type, {k, c});
    Epilogue e{};
    e.bias = bias.raw();
    e.bias_type = type;
    e.relu = true;
    direct_product(run_on_host, {type, type, n, k, c, c, 1, 1, c}, x.raw(), w.raw(), e, y.raw());
    EXPECT_EQ(outside_band(y, reference_of("dense", {x, w, bias}, {{"activation", std::string("relu")}})[0], band, 1), "");
    direct_product(run_on_host, {type, type, n, c, k, k, 1, c, 1}, dy.raw(), w.raw(), {}, dx.raw());
    EXPECT_EQ(outside_band(dx, reference_of("dense_bwd_data", {dy, w})[0], band, 1), "");
    direct_product(run_on_host, {type, type, k, c, n, 1, k, c, 1}, dy.raw(), x.raw(), {}, dw.raw());
    EXPECT_EQ(outside_band(dw, reference_of("dense_bwd_weights", {x, dy})[0], band, 1), "");
  }
}

}  // namespace
}  // namespace ridgeline::cuda::testing
