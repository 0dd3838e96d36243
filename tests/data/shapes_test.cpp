#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/sha256.h"
#include "ridgeline/data/make/draw.h"
#include "ridgeline/data/make/shapes.h"
#include "ridgeline/image/jpeg/jpeg.h"
#include "ridgeline/image/resample/resample.h"

namespace ridgeline::data {

using image::Box, image::Image;

namespace {

TEST(Draw, AFilledOutlineCoversItsArea) {
  Mask mask(20, 30);
  mask.fill({{{2.25, 3}, {12.75, 3}, {12.75, 9}, {2.25, 9}}});
  double area = 0;
  for (int y = 0; y < 20; ++y) {
    for (int x = 0; x < 30; ++x) area += mask.row(y)[x];
  }
  EXPECT_NEAR(area, 10.5 * 6, 1e-4);
  EXPECT_FLOAT_EQ(mask.row(5)[2], 0.75f);
  EXPECT_FLOAT_EQ(mask.row(5)[6], 1.0f);
  EXPECT_FLOAT_EQ(mask.row(5)[13], 0.0f);
  EXPECT_EQ(mask.extent(), (Box{3, 2, 7, 11}));
}

TEST(Draw, AContourThatRunsTheOtherWayIsAHole) {
  Mask mask(10, 10);
  mask.fill({{{1, 1}, {9, 1}, {9, 9}, {1, 9}}, {{3, 3}, {3, 7}, {7, 7}, {7, 3}}});
  EXPECT_FLOAT_EQ(mask.row(5)[5], 0.0f);
  EXPECT_FLOAT_EQ(mask.row(5)[2], 1.0f);
}

TEST(Draw, OutlinesBeyondThePictureAreClipped) {
  Mask mask(10, 10);
  mask.fill({{{-5, -5}, {50, -5}, {50, 50}, {-5, 50}}});
  for (int y = 0; y < 10; ++y) {
    for (int x = 0; x < 10; ++x) ASSERT_FLOAT_EQ(mask.row(y)[x], 1.0f);
  }
}

TEST(Shapes, SamplesArePureFunctionsOfSeedSplitAndIndex) {
  int label = -1;
  const Image a = draw_shape_sample(1, false, 17, &label);
  EXPECT_EQ(label, 7);
  EXPECT_EQ(a, draw_shape_sample(1, false, 17));
  EXPECT_NE(a, draw_shape_sample(2, false, 17));
  EXPECT_NE(a, draw_shape_sample(1, true, 17));
  EXPECT_NE(a, draw_shape_sample(1, false, 27));
  EXPECT_THROW(draw_shape_sample(1, false, -1), Error);
}

TEST(Shapes, PixelsAreTheSameOnEveryMachine) {
  std::string pixels;
  for (int i = 0; i < 20; ++i) {
    const Image image = draw_shape_sample(1, i % 2 == 1, 100 + i);
    pixels.append(reinterpret_cast<const char*>(image.data()), image.byte_size());
  }
  EXPECT_EQ(Sha256().update(pixels.data(), pixels.size()).hex(),
            "ac09cc8b509cb75ebdb10c8ecc9fee6f1f0855b30206c015c182afffa5ba3e70");
}

TEST(Shapes, SizesLabelsAndNamesAreAsPromised) {
  EXPECT_EQ(shape_class_names().size(), 10u);
  EXPECT_EQ(std::set<std::string>(shape_class_names().begin(), shape_class_names().end()).size(), 10u);
  int low = 1000, high = 0;
  for (int i = 0; i < 100; ++i) {
    const Image image = draw_shape_sample(5, false, i);
    for (int side : {image.height(), image.width()}) {
      low = std::min(low, side);
      high = std::max(high, side);
    }
  }
  EXPECT_GE(low, 96);
  EXPECT_LE(high, 320);
  EXPECT_LT(low, 110);
  EXPECT_GT(high, 306);
}

// Softmax regression on the raw pixels, by plain gradient steps: position, angle, colours and contrast vary so much
// that it must not get far. (A convolutional network reaches more than 95 %.)
TEST(Shapes, ALinearClassifierFails) {
  constexpr int n = 2000, m = 400, side = 32, features = side * side * 3;
  const auto load = [&](bool validation, int count) {
    std::vector<float> x(static_cast<std::size_t>(count) * features);
    for (int i = 0; i < count; ++i) {
      const Image small = resize(draw_shape_sample(1, validation, i), image::Size{side, side});
      for (int k = 0; k < features; ++k) x[static_cast<std::size_t>(i) * features + k] = small.data()[k] / 127.5f - 1;
    }
    return x;
  };
  const std::vector<float> train = load(false, n), validation = load(true, m);
  std::vector<float> weights(10 * (features + 1), 0.0f);
  const auto scores = [&](const float* x, float* z) {
    for (int c = 0; c < 10; ++c) {
      const float* w = &weights[static_cast<std::size_t>(c) * (features + 1)];
      float sum = w[features];
      for (int k = 0; k < features; ++k) sum += w[k] * x[k];
      z[c] = sum;
    }
  };
  for (int epoch = 0; epoch < 8; ++epoch) {
    for (int i = 0; i < n; ++i) {
      const float* x = &train[static_cast<std::size_t>((i * 7919 + epoch) % n) * features];
      float z[10], total = 0;
      scores(x, z);
      const float top = *std::max_element(z, z + 10);
      for (float& v : z) total += v = std::exp(v - top);
      for (int c = 0; c < 10; ++c) {
        const float step = 0.0003f * (z[c] / total - (shape_label((i * 7919 + epoch) % n) == c ? 1.0f : 0.0f));
        float* w = &weights[static_cast<std::size_t>(c) * (features + 1)];
        for (int k = 0; k < features; ++k) w[k] -= step * x[k];
        w[features] -= step;
      }
    }
  }
  const auto accuracy = [&](const std::vector<float>& x, int count) {
    int right = 0;
    for (int i = 0; i < count; ++i) {
      float z[10];
      scores(&x[static_cast<std::size_t>(i) * features], z);
      right += std::max_element(z, z + 10) - z == shape_label(i);
    }
    return static_cast<double>(right) / count;
  };
  EXPECT_GT(accuracy(train, n), 0.25);  // it does learn: by heart
  EXPECT_LT(accuracy(validation, m), 0.6);
}

}  // namespace
}  // namespace ridgeline::data
