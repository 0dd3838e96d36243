// Direct and depthwise convolutions and products: host versions beside the reference.
#include <gtest/gtest.h>

#include "ridgeline/device/cuda/kernels/launches.h"
#include "tests/device/cuda/op_support.h"

namespace ridgeline::cuda::testing {
namespace {

constexpr int kConvolutionRounds = 45;

struct ConvolutionCase {
  DirectShape s;
  Attributes attributes;
  Shape image, weight, result;
};

// Fills in what follows from the image, the kernel and the padding.
void complete(ConvolutionCase& c, std::int64_t bottom, std::int64_t right) {
  DirectShape& s = c.s;
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
}

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
  complete(c, values.pick({0, 2}), values.pick({0, 1}));
  return c;
}

void expect_convolution(ConvolutionCase c, Values& values, int round, bool plain, double half_band = 1.1) {
  const DType type = c.s.type;
  if (plain) c.s.result = type;
  const bool f32_results = c.s.result != type;
  ASSERT_EQ(is_depthwise(c.s),
            plain || (c.s.groups == c.s.c && c.s.k == c.s.c && c.s.r == 3 && c.s.s == 3 && c.s.dilation_h == 1));
  c.attributes.set("f32_results", f32_results);
  const bool with_bias = values.coin(), wide = values.coin(), addend = !plain && values.coin(), relu = values.coin();
  const Tensor x = values.uniform(type, c.image), w = values.uniform(type, c.weight),
               dy = values.uniform(type, c.result);
  const Tensor bias = values.uniform(wide ? DType::f32 : type, {c.s.k}), more = values.uniform(c.s.result, c.result);
  const Tensor gate = values.special(c.s.result, c.image);
  const bool gated = !f32_results && values.coin();
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
    depthwise_data_gradient(run_on_host, c.s, dy.raw(), w.raw(), gated ? gate.raw() : nullptr, dx.raw());
    auto memory = scratch(depthwise_weight_gradient_scratch(c.s));
    depthwise_weight_gradient(run_on_host, c.s, x.raw(), dy.raw(), dw.raw(), memory.data());
  } else {
    direct_convolution(run_on_host, c.s, x.raw(), w.raw(), e, y.raw());
    direct_data_gradient(run_on_host, c.s, dy.raw(), w.raw(), gated ? gate.raw() : nullptr, dx.raw());
    direct_weight_gradient(run_on_host, c.s, x.raw(), dy.raw(), dw.raw());
  }
  SCOPED_TRACE(std::to_string(round) + " image " + c.image.to_string() + " weight " + c.weight.to_string());
  const double band = c.s.result == DType::f32 ? 64 : half_band;
  EXPECT_EQ(outside_band(y, reference_of("conv2d", inputs, forward)[0], band, 1), "");
  Attributes data = c.attributes;
  data.set("input", c.image.dims());
  EXPECT_EQ(
      outside_band(dx, reference_of("conv2d_bwd_data", gated ? std::vector{dy, w, gate} : std::vector{dy, w}, data)[0],
                   band, 1),
      "");
  Attributes weights = c.attributes;
  weights.set("kernel", Integers{c.s.r, c.s.s});
  EXPECT_EQ(outside_band(dw, reference_of("conv2d_bwd_weights", {x, dy}, weights)[0], band, 1), "");
}

void expect_random_convolutions(bool plain) {
  for (int round = 0; round < kConvolutionRounds; ++round) {
    Values values(static_cast<unsigned>(round));
    expect_convolution(random_convolution(values, kStorageTypes[round % 3], plain), values, round, plain);
  }
}

TEST(CudaConvolutions, DirectOnesGiveTheReferencesResultsThreeWays) { expect_random_convolutions(false); }

TEST(CudaConvolutions, DepthwiseOnesGiveTheReferencesResultsThreeWays) { expect_random_convolutions(true); }

struct DepthwiseSize {
  std::int64_t n, h, w, c, stride_h, stride_w, top, left;
};

// A thread walks down strips of two or four pixels, at least seven rows high where there are that many; a block has 256
// threads and up to 32 of them beside each other in the channels.
TEST(CudaConvolutions, DepthwiseOnesGiveTheReferencesResultsAtTheBordersOfStripsTilesAndBlocks) {
  const DepthwiseSize sizes[] = {
      {1, 7, 4, 20, 1, 1, 1, 1},  {1, 8, 5, 12, 1, 1, 1, 1},  {1, 15, 3, 8, 1, 1, 1, 1},  {2, 14, 7, 144, 1, 1, 1, 1},
      {1, 29, 6, 20, 1, 1, 2, 2}, {1, 1, 1, 132, 1, 1, 1, 1}, {1, 13, 33, 4, 1, 1, 0, 0}, {3, 9, 9, 3, 1, 1, 1, 1},
      {2, 16, 70, 2, 1, 1, 1, 1}, {1, 14, 8, 20, 2, 2, 1, 1}, {1, 15, 9, 12, 2, 2, 1, 1}, {2, 28, 14, 144, 2, 2, 1, 1},
      {1, 29, 17, 8, 2, 2, 0, 0}, {1, 43, 7, 4, 2, 2, 2, 2},  {1, 2, 2, 260, 2, 2, 1, 1}, {1, 30, 19, 20, 2, 2, 0, 1},
      {2, 17, 35, 6, 2, 2, 1, 0}, {1, 19, 8, 12, 3, 3, 1, 1}, {1, 17, 9, 20, 1, 2, 1, 1}, {1, 17, 9, 20, 2, 1, 1, 1},
      {9, 3, 3, 1, 1, 1, 1, 1},   {64, 2, 2, 64, 1, 1, 1, 1}, {65, 3, 3, 64, 2, 2, 1, 1}, {410, 1, 1, 2048, 1, 1, 1, 1},
  };
  int round = 0;
  for (const DepthwiseSize& size : sizes) {
    for (int of_type = 0; of_type < 3; ++of_type, ++round) {
      if (size.c == 2048 && of_type != 1) continue;
      Values values(static_cast<unsigned>(round));
      ConvolutionCase c;
      c.s = {.type = kStorageTypes[of_type], .result = kStorageTypes[of_type], .n = size.n, .h = size.h, .w = size.w};
      c.s.c = c.s.k = c.s.groups = size.c;
      c.s.r = c.s.s = 3;
      c.s.stride_h = size.stride_h;
      c.s.stride_w = size.stride_w;
      c.s.top = size.top;
      c.s.left = size.left;
      complete(c, size.top == 0 ? 2 : size.top, size.left);
      expect_convolution(c, values, round, true, 2.1);  // 16 bits: a neighbour, where rounding is close
    }
  }
}

TEST(CudaProducts, DirectOnesGiveTheReferencesResultsThreeWays) {
  for (int round = 0; round < kConvolutionRounds; ++round) {
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
    EXPECT_EQ(outside_band(y, reference_of("dense", {x, w, bias}, {{"activation", std::string("relu")}})[0], band, 1),
              "");
    direct_product(run_on_host, {type, type, n, c, k, k, 1, c, 1}, dy.raw(), w.raw(), {}, dx.raw());
    EXPECT_EQ(outside_band(dx, reference_of("dense_bwd_data", {dy, w})[0], band, 1), "");
    direct_product(run_on_host, {type, type, k, c, n, 1, k, c, 1}, dy.raw(), x.raw(), {}, dw.raw());
    EXPECT_EQ(outside_band(dw, reference_of("dense_bwd_weights", {x, dy})[0], band, 1), "");
  }
}

}  // namespace
}  // namespace ridgeline::cuda::testing
