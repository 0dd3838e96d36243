#include "ridgeline/nn/functional.h"

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/op/evaluate.h"
#include "tests/support/error_of.h"

namespace ridgeline::nn {
namespace {

Tensor ramp(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    tensor.data<float>()[i] = static_cast<float>((i * 37) % 101) - 50.0f;
  return tensor;
}

// torch.nn.AdaptiveAvgPool2d as PyTorch defines it.
double adaptive_mean(const Tensor& x, std::int64_t n, std::int64_t i, std::int64_t j, std::int64_t c,
                     const Extent& size) {
  const std::int64_t height = x.shape()[1], width = x.shape()[2], channels = x.shape()[3];
  const std::int64_t top = i * height / size.height, bottom = ((i + 1) * height + size.height - 1) / size.height;
  const std::int64_t left = j * width / size.width, right = ((j + 1) * width + size.width - 1) / size.width;
  double sum = 0;
  for (std::int64_t h = top; h < bottom; ++h) {
    for (std::int64_t w = left; w < right; ++w) sum += x.at(((n * height + h) * width + w) * channels + c);
  }
  return sum / static_cast<double>((bottom - top) * (right - left));
}

TEST(FunctionalTest, AdaptivePoolingToNothingIsRefused) {
  GraphBuilder builder("pool");
  const Value x = builder.input("x", {DType::f32, {1, 4, 4, 1}});
  const std::string line = std::to_string(__LINE__ + 1);
  EXPECT_EQ(
      error_of([&] { adaptive_avg_pool(x, Extent(0, 2)); }),
      "[adaptive_avg_pool] the size is 0 x 2; it must be 1 x 1 or more (" + std::string(__FILE__) + ":" + line + ")");
}

TEST(FunctionalTest, AdaptivePoolingIsExactForAnySize) {
  const Extent size(6, 7);
  for (const Shape& shape : {Shape{2, 1, 1, 3}, Shape{1, 2, 3, 2}, Shape{2, 6, 7, 1}, Shape{1, 12, 21, 2},
                             Shape{1, 13, 13, 2}, Shape{1, 6, 1, 2}, Shape{1, 4, 9, 1}}) {
    GraphBuilder builder("pool");
    const Value y = adaptive_avg_pool(builder.input("x", {DType::f32, shape}), size);
    ASSERT_EQ(y.shape(), (Shape{shape[0], 6, 7, shape[3]}));
    builder.returns("y", y);
    const Graph graph = builder.finish();
    verify(graph);
    const Tensor x = ramp(shape);
    const Tensor result = evaluate_returns(graph, {{"x", x}}).front();
    std::int64_t at = 0;
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      for (std::int64_t i = 0; i < 6; ++i) {
        for (std::int64_t j = 0; j < 7; ++j) {
          for (std::int64_t c = 0; c < shape[3]; ++c) {
            EXPECT_NEAR(result.at(at++), adaptive_mean(x, n, i, j, c, size), 1e-4) << shape.to_string();
          }
        }
      }
    }
  }
}

TEST(FunctionalTest, AnErrorNamesTheCallersLine) {
  GraphBuilder builder("wrong");
  const Value x = builder.input("x", {DType::f32, {1, 8, 8, 3}});
  const Value w = builder.param("w", {DType::f32, {4, 3, 3, 5}});
  try {
    conv2d(x, w, {});
    FAIL() << "a kernel for five channels was applied to three";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("functional_test.cpp:" + std::to_string(__LINE__ - 3)), std::string::npos)
        << error.what();
    EXPECT_EQ(std::string(error.what()).rfind("[conv2d]", 0), 0u) << error.what();
  }
}

TEST(FunctionalTest, ArgumentsOutsideTheirRangeAreRefused) {
  GraphBuilder builder("ranges");
  const Value x = builder.input("x", {DType::f32, {4, 10}});
  const Value labels = builder.input("labels", {DType::i32, {4}});
  const Value step = builder.state("step", {DType::i64, {}});
  EXPECT_THROW(dropout(x, step, 0.0, 1), Error);
  EXPECT_THROW(dropout(x, step, 1.5, 1), Error);
  EXPECT_EQ(dropout(x, step, 1.0, 1).id(), x.id());
  EXPECT_THROW(softmax_cross_entropy(x, labels, {}, 1.0), Error);
  EXPECT_THROW(softmax_cross_entropy(x, labels, {}, -0.1), Error);
}

}  // namespace
}  // namespace ridgeline::nn
