#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"
#include "ridgeline/data/make/draw.h"
#include "ridgeline/data/make/shapes.h"
#include "ridgeline/image/jpeg/jpeg.h"

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
  EXPECT_EQ(hash64(pixels), 15576421571636764866u);
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

}  // namespace
}  // namespace ridgeline::data
