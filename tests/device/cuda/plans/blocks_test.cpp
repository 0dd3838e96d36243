#include "ridgeline/device/cuda/cudnn/blocks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ridgeline/device/cuda/kernels/row.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline::cuda::cudnn {
namespace {

using Integers = std::vector<std::int64_t>;

// Whole numbers between -8 and 8: their sums are exact in every order.
Tensor small_numbers(const Shape& shape, std::uint64_t seed) {
  Tensor tensor(DType::f32, shape);
  std::uint64_t state = seed;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    tensor.data<float>()[i] = static_cast<float>(static_cast<int>(state >> 60) - 8);
  }
  return tensor;
}

Tensor run(const char* op, const Attributes& attributes, const Tensor& a, const Tensor& b) {
  const OpDef& def = op_def(op);
  return run_reference(def, std::vector<Tensor>{a, b}, complete_attributes(def, attributes), "node")[0];
}

void expect_equal(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  for (std::int64_t i = 0; i < got.elements(); ++i) ASSERT_EQ(got.at(i), expected.at(i)) << i;
}

struct Layer {
  std::int64_t height, width, kernel, stride, pad, channels;
};
// AlexNet's first layer and ResNet's over smaller images; a pad of whole blocks, none, and other numbers of channels.
const Layer kLayers[] = {{36, 40, 11, 4, 2, 3}, {32, 26, 7, 2, 3, 3}, {24, 24, 5, 2, 2, 3}, {24, 16, 3, 2, 1, 3},
                         {16, 16, 8, 4, 0, 1},  {18, 12, 3, 3, 1, 4}, {20, 20, 2, 2, 0, 2}};

Convolution convolution_of_layer(const Layer& l, Pass pass) {
  Convolution c;
  c.pass = pass;
  c.image = {2, l.height, l.width, l.channels};
  c.filter = {5, l.kernel, l.kernel, l.channels};
  c.window.kernel = {l.kernel, l.kernel};
  c.window.stride = {l.stride, l.stride};
  c.window.pad_before = c.window.pad_after = {l.pad, l.pad};
  c.result = {2, c.window.output_size(0, l.height), c.window.output_size(1, l.width), 5};
  return c;
}

Attributes attributes_of(const Layer& l) {
  return {{"stride", Integers{l.stride, l.stride}}, {"pad", Integers{l.pad, l.pad, l.pad, l.pad}}};
}

TEST(Blocks, AConvolutionOverBlocksOfPixelsIsTheSame) {
  for (const Layer& l : kLayers) {
    const Convolution c = convolution_of_layer(l, Pass::forward);
    const std::optional<Blocks> blocks = blocks_of(c);
    ASSERT_TRUE(blocks.has_value()) << l.kernel;
    EXPECT_EQ(blocks->convolution.image[3] % 8, 0);
    const Tensor x = small_numbers(c.image, 1), w = small_numbers(c.filter, 2);
    Tensor blocked_x(DType::f32, blocks->convolution.image), blocked_w(DType::f32, blocks->convolution.filter),
        padded(DType::f32, blocks->convolution.filter);
    blocks->block_image(run_on_host, x.raw(), blocked_x.raw());
    blocks->block_filter(run_on_host, w.raw(), padded.raw(), blocked_w.raw());
    expect_equal(run("conv2d", {}, blocked_x, blocked_w), run("conv2d", attributes_of(l), x, w));
  }
}

TEST(Blocks, SoIsItsGradientByTheFilter) {
  for (const Layer& l : kLayers) {
    const Convolution c = convolution_of_layer(l, Pass::backward_filter);
    const std::optional<Blocks> blocks = blocks_of(c);
    ASSERT_TRUE(blocks.has_value()) << l.kernel;
    const Tensor x = small_numbers(c.image, 1), dy = small_numbers(c.result, 2);
    Tensor blocked_x(DType::f32, blocks->convolution.image), padded(DType::f32, blocks->convolution.filter),
        dw(DType::f32, c.filter);
    blocks->block_image(run_on_host, x.raw(), blocked_x.raw());
    const Shape& filter = blocks->convolution.filter;
    const Tensor blocked_dw = run("conv2d_bwd_weights", {{"kernel", Integers{filter[1], filter[2]}}}, blocked_x, dy);
    blocks->unblock_filter(run_on_host, blocked_dw.raw(), padded.raw(), dw.raw());
    Attributes attributes = attributes_of(l);
    attributes.set("kernel", Integers{l.kernel, l.kernel});
    expect_equal(dw, run("conv2d_bwd_weights", attributes, x, dy));
  }
}

TEST(Blocks, OthersKeepTheirForm) {
  const Layer first = kLayers[0];
  EXPECT_FALSE(blocks_of(convolution_of_layer(first, Pass::backward_data)).has_value());
  Convolution c = convolution_of_layer(first, Pass::forward);
  c.image = {2, 35, 40, 3};  // no whole blocks
  EXPECT_FALSE(blocks_of(c).has_value());
  EXPECT_FALSE(blocks_of(convolution_of_layer({24, 24, 3, 1, 1, 3}, Pass::forward)).has_value());
  EXPECT_FALSE(blocks_of(convolution_of_layer({24, 24, 3, 2, 1, 16}, Pass::forward)).has_value());
}

}  // namespace
}  // namespace ridgeline::cuda::cudnn
