#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/image/augment/augment.h"
#include "ridgeline/image/augment/border.h"
#include "ridgeline/image/augment/rotate.h"
#include "ridgeline/image/augment/warp_draw.h"
#include "ridgeline/image/boxes.h"
#include "ridgeline/image/pixels.h"
#include "support.h"

namespace ridgeline::image {
namespace {

// A black image with a white rectangle, and the rectangle as a box.
struct Marked {
  Image image;
  ObjectBox box;
};

Marked marked(SampleRandom& random) {
  const int height = static_cast<int>(random.integer(20, 60)), width = static_cast<int>(random.integer(20, 60));
  Marked m{Image(height, width, 1), {}};
  const int top = static_cast<int>(random.integer(4, 9)), bottom = static_cast<int>(random.integer(12, height - 4));
  const int left = static_cast<int>(random.integer(4, 9)), right = static_cast<int>(random.integer(12, width - 4));
  for (int y = top; y < bottom; ++y) std::fill(m.image.row(y) + left, m.image.row(y) + right, 255);
  const auto h = static_cast<float>(height), w = static_cast<float>(width);
  m.box = {static_cast<float>(top) / h, static_cast<float>(left) / w, static_cast<float>(bottom) / h,
           static_cast<float>(right) / w};
  return m;
}

// The bounding box of the white pixels as top, left, bottom, right.
std::array<double, 4> extent(const ImageView& image) {
  std::array<double, 4> e = {1e9, 1e9, -1, -1};
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      if (*image.pixel(y, x) < 128) continue;
      e = {std::min<double>(e[0], y), std::min<double>(e[1], x), std::max<double>(e[2], y + 1),
           std::max<double>(e[3], x + 1)};
    }
  }
  return e;
}

void expect_around(const ObjectBox& box, const ImageView& image, double tolerance) {
  const std::array<double, 4> e = extent(image);
  EXPECT_NEAR(box.ymin * image.height, e[0], tolerance);
  EXPECT_NEAR(box.xmin * image.width, e[1], tolerance);
  EXPECT_NEAR(box.ymax * image.height, e[2], tolerance);
  EXPECT_NEAR(box.xmax * image.width, e[3], tolerance);
}

TEST(Boxes, StayAroundTheirObjectThroughCropsPadsAndFlips) {
  SampleRandom random(philox_key(1, "boxes"), 0, 0);
  for (int i = 0; i < 50; ++i) {
    const Marked m = marked(random);
    const Size size{m.image.height(), m.image.width()};
    std::vector<ObjectBox> boxes = {m.box};
    crop_boxes(boxes, size, {2, 3, size.height - 4, size.width - 5});
    const Image cut = copy(crop(m.image, {2, 3, size.height - 4, size.width - 5}));
    expect_around(boxes[0], cut, 1e-4);

    boxes = {m.box};
    const Border border{7, 3, 0, 11};
    const Size padded = padded_size(size, border);
    Image wide(padded.height, padded.width, 1), out(size.height, size.width, 1);
    pad(m.image, border, BorderMode::constant, {}, wide.data());
    pad_boxes(boxes, size, border);
    expect_around(boxes[0], wide, 1e-4);

    boxes = {m.box};
    flip_boxes_horizontal(boxes);
    expect_around(boxes[0], test::flipped_horizontal(m.image), 1e-4);
    boxes = {m.box};
    flip_boxes_vertical(boxes);
    flip_vertical(m.image, out.data());
    expect_around(boxes[0], out, 1e-4);
  }
}

TEST(Boxes, EncloseTheirObjectAfterWarpsAndRotations) {
  SampleRandom random(philox_key(2, "boxes"), 0, 0);
  for (int i = 0; i < 80; ++i) {
    const Marked m = marked(random);
    const Size size{m.image.height(), m.image.width()};
    const double angle = i % 2 == 0 ? 90.0 * static_cast<double>(random.integer(0, 3)) : random.uniform(0, 360);
    const Rotation rotation = plan_rotation(size, angle, true);
    Image out(rotation.size.height, rotation.size.width, 1);
    rotate(m.image, rotation, Sampling::nearest, {}, out.data());
    std::vector<ObjectBox> boxes = {m.box};
    rotate_boxes(boxes, size, rotation);
    expect_around(boxes[0], out, rotation.kind == Rotation::Kind::warp ? 1.5 : 1e-4);

    const AffineMatrix matrix = affine_matrix(
        {random.uniform(-20, 20), random.uniform(-2, 2), random.uniform(-2, 2), 0.6, random.uniform(-15, 15), 0}, size);
    Image warped(size.height, size.width, 1);
    warp_affine(m.image, matrix, Sampling::nearest, {}, size, warped.data());
    boxes = {m.box};
    warp_boxes(boxes, size, matrix, size);
    expect_around(boxes[0], warped, 1.5);
  }
}

TEST(Boxes, ClippingDropsWhatIsTooSmallAndTellsWhoStays) {
  std::vector<ObjectBox> boxes = {{-0.5f, 0.25f, 0.5f, 0.75f},   // half of it is left
                                  {0.0f, 0.0f, 0.01f, 0.01f},    // a pixel
                                  {1.25f, 0.0f, 1.5f, 1.0f},     // outside
                                  {0.25f, 0.25f, 0.75f, 0.75f},  // whole
                                  {-0.75f, 0.0f, 0.25f, 1.0f}};  // a quarter is left
  std::vector<ObjectBox> clipped = boxes;
  clip_boxes(clipped);
  EXPECT_EQ(clipped[0].ymin, 0.0f);
  EXPECT_EQ(clipped[2].ymin, 1.0f);
  EXPECT_EQ(clipped[2].ymax, 1.0f);
  std::vector<ObjectBox> kept = boxes;
  EXPECT_EQ(clip_and_drop_boxes(kept, {100, 100}, {2, 0.5}), (std::vector<std::size_t>{0, 3}));
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].ymin, 0.0f);
  EXPECT_EQ(kept[1].xmax, 0.75f);
  kept = boxes;
  EXPECT_EQ(clip_and_drop_boxes(kept, {200, 200}, {2, 0}), (std::vector<std::size_t>{0, 1, 3, 4}));
  EXPECT_THROW(clip_and_drop_boxes(kept, {200, 200}, {1, 2}), Error);
}

// The corners of an upright box transformed by a warp are less than one pixel further out than the pixels of the warped
// rectangle; the result is the smallest upright box around them.
TEST(Boxes, StayAroundTheirObjectThroughPerspectives) {
  SampleRandom random(philox_key(9, "perspectives"), 0, 0);
  for (int i = 0; i < 60; ++i) {
    const Marked m = marked(random);
    const Size size{m.image.height(), m.image.width()};
    std::vector<ObjectBox> boxes = {m.box};
    const PerspectiveCoefficients k = draw_perspective(0.3, size, random);
    Image out(size.height, size.width, 1);
    perspective(m.image.view(), k, Sampling::nearest, {}, out.data());
    perspective_boxes(boxes, size, k);
    expect_around(boxes[0], out.view(), 1.5);
  }
  std::vector<ObjectBox> same = {{0.25f, 0.5f, 0.75f, 1}};
  perspective_boxes(same, {40, 30}, {1, 0, 0, 0, 1, 0, 0, 0});
  EXPECT_EQ(same[0].ymin, 0.25f);
  EXPECT_EQ(same[0].xmax, 1);
  // The horizon is the column at -200: a box that crosses it is clipped to the image, one beyond it becomes empty.
  const PerspectiveCoefficients far{1, 0, 0, 0, 1, 0, -0.005, 0};
  std::vector<ObjectBox> behind = {{0.2f, -3, 0.4f, 0.5f}, {0.2f, -5, 0.4f, -4}};
  perspective_boxes(behind, {100, 100}, far);
  EXPECT_EQ(behind[0].xmin, 0);
  EXPECT_GT(behind[0].xmax, 0.3f);
  EXPECT_EQ(behind[1].xmin, behind[1].xmax);
  EXPECT_THROW(perspective_boxes(same, {5, 5}, {1, 1, 0, 1, 1, 0, 0, 0}), Error);
}

TEST(Boxes, StayAroundTheirObjectThroughThePolicies) {
  SampleRandom random(philox_key(9, "policies"), 0, 0);
  for (const AugmentStep step : {AugmentStep{Augment::shear_x, 0.2},
                                 {Augment::shear_x, -0.1},
                                 {Augment::shear_y, -0.2},
                                 {Augment::translate_x, 3.7},
                                 {Augment::translate_y, -3.2},
                                 {Augment::rotate, 90},
                                 {Augment::rotate, 10},
                                 {Augment::rotate, 180},
                                 {Augment::identity, 0},
                                 {Augment::sharpness, 0.5},
                                 {Augment::autocontrast, 0}}) {
    for (int i = 0; i < 10; ++i) {
      const Marked m = marked(random);
      const Size size{m.image.height(), m.image.width()};
      std::vector<ObjectBox> boxes = {m.box};
      Image out(size.height, size.width, 1);
      apply_augment(m.image.view(), step, {}, out.data());
      augment_boxes(boxes, size, step);
      clip_boxes(boxes);
      if (extent(out.view())[2] < 0) continue;  // moved out of the image
      expect_around(boxes[0], out.view(), 1.5);
    }
  }
}

TEST(Boxes, ErrorsSayWhatIsAllowed) {
  std::vector<ObjectBox> boxes(1);
  EXPECT_THROW(crop_boxes(boxes, {0, 5}, {0, 0, 1, 1}), Error);
  EXPECT_THROW(crop_boxes(boxes, {5, 5}, {0, 0, 0, 1}), Error);
  EXPECT_THROW(warp_boxes(boxes, {5, 5}, {1, 1, 0, 1, 1, 0}, {5, 5}), Error);
}

}  // namespace
}  // namespace ridgeline::image
