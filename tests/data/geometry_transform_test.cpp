// Transforms that move pixels, against the functions of image/ called one by one with the same draws.
#include "pictures.h"
#include "ridgeline/image/augment/border.h"
#include "ridgeline/image/augment/rotate.h"
#include "ridgeline/image/augment/warp_draw.h"
#include "ridgeline/image/geometry.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/resample/resample.h"

namespace ridgeline::data::testing {
namespace {

using image::Sampling;

image::Image rotated(const image::Image& in, const image::Rotation& plan, Sampling sampling, image::Colour fill) {
  image::Image out(plan.size.height, plan.size.width);
  image::rotate(in, plan, sampling, fill, out.data());
  return out;
}

image::Image warped(const image::Image& in, const image::AffineMatrix& matrix, Sampling sampling, image::Colour fill) {
  image::Image out(in.height(), in.width());
  image::warp_affine(in, matrix, sampling, fill, {in.height(), in.width()}, out.data());
  return out;
}

image::Size size_of(const image::Image& in) { return {in.height(), in.width()}; }

TEST(GeometryTransforms, RotationsAreImageRotations) {
  const Pictures pictures;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const image::Image whole = pictures.decoded(i);
    expect_pixels(pictures.through({Rotate(33, {.interpolation = "bicubic", .expand = true, .fill = {1, 2, 3}})}, i),
                  rotated(whole, image::plan_rotation(size_of(whole), 33, true), Sampling::bicubic, {1, 2, 3}));
    expect_pixels(pictures.through({Rotate(90)}, i),
                  rotated(whole, image::plan_rotation(size_of(whole), 90), Sampling::nearest, {}));
    SampleRandom random = Pictures::draws("random_rotation", i, 2);
    const double angle = random.uniform(-20, 40);
    expect_pixels(
        pictures.through({RandomRotation({-20, 40}, {.interpolation = "bilinear", .center = {{3, 4}}})}, i, 2),
        rotated(whole, image::plan_rotation(size_of(whole), angle, false, image::Centre{3, 4}), Sampling::bilinear,
                {}));
    SampleRandom again = Pictures::draws("random_rotation", i);
    expect_pixels(pictures.through({RandomRotation(25)}, i),
                  rotated(whole, image::plan_rotation(size_of(whole), again.uniform(-25, 25)), Sampling::nearest, {}));
  }
}

TEST(GeometryTransforms, AffineIsTheMatrixOfItsArguments) {
  const Pictures pictures;
  const image::Image whole = pictures.decoded(1);
  const image::AffineRule rule{20, 3, -2, 1.2, 5, -7};
  const AffineOptions options{.angle = 20, .translate = {3, -2}, .scale = 1.2, .shear = {5, -7}, .fill = 9};
  expect_pixels(pictures.through({Affine(options)}, 1),
                warped(whole, image::affine_matrix(rule, size_of(whole)), Sampling::nearest, {9, 9, 9}));
  AffineOptions off = options;
  off.center = {{2, 5}};
  off.interpolation = "bilinear";
  expect_pixels(pictures.through({Affine(off)}, 1),
                warped(whole, image::affine_matrix(rule, 2, 5), Sampling::bilinear, {9, 9, 9}));
}

TEST(GeometryTransforms, RandomAffineDrawsWhatImageDraws) {
  const Pictures pictures;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const image::Image whole = pictures.decoded(i);
    SampleRandom random = Pictures::draws("random_affine", i, 1);
    const image::RandomAffineRule rule{{-10, 30}, 0.1, 0.3, {0.5, 1.5}, {-4, 8}, {-3, 3}};
    const image::AffineRule drawn = image::draw_affine(rule, size_of(whole), random);
    const RandomAffineOptions options{
        .translate = {{0.1, 0.3}}, .scale = {{0.5, 1.5}}, .shear = {-4, 8, -3, 3}, .interpolation = "bilinear"};
    expect_pixels(pictures.through({RandomAffine({-10, 30}, options)}, i, 1),
                  warped(whole, image::affine_matrix(drawn, size_of(whole)), Sampling::bilinear, {}));
    SampleRandom again = Pictures::draws("random_affine", i);
    const image::AffineRule plain = image::draw_affine({{-15, 15}, 0, 0, {1, 1}, {-5, 5}, {}}, size_of(whole), again);
    expect_pixels(pictures.through({RandomAffine(15, {.shear = {5}})}, i),
                  warped(whole, image::affine_matrix(plain, size_of(whole)), Sampling::nearest, {}));
  }
}

TEST(GeometryTransforms, RandomPerspectiveDrawsWhetherAndThenWhat) {
  const Pictures pictures;
  int moved = 0;
  for (std::uint64_t i = 0; i < 24; ++i) {
    const std::uint64_t picture = i % 6, epoch = i / 6;
    const image::Image whole = pictures.decoded(picture);
    SampleRandom random = Pictures::draws("random_perspective", picture, epoch);
    image::Image wanted = whole;
    if (random.uniform() < 0.5) {
      const auto coefficients = image::draw_perspective(0.4, size_of(whole), random);
      image::perspective(whole, coefficients, Sampling::bilinear, {5, 5, 5}, wanted.data());
      ++moved;
    }
    expect_pixels(pictures.through({RandomPerspective({.distortion_scale = 0.4, .fill = 5})}, picture, epoch), wanted);
  }
  EXPECT_GT(moved, 3);
  EXPECT_LT(moved, 21);
}

TEST(GeometryTransforms, PadHasTorchvisionsOrderOfSides) {
  const Pictures pictures;
  const image::Image whole = pictures.decoded(2);
  const auto padded = [&](image::Border border, image::BorderMode mode, image::Colour fill) {
    const image::Size size = image::padded_size(size_of(whole), border);
    image::Image out(size.height, size.width);
    image::pad(whole, border, mode, fill, out.data());
    return out;
  };
  using image::BorderMode;
  expect_pixels(pictures.through({Pad({2})}, 2), padded({2, 2, 2, 2}, BorderMode::constant, {}));
  expect_pixels(pictures.through({Pad({1, 2}, {.fill = {7, 8, 9}})}, 2),
                padded({.top = 2, .left = 1, .bottom = 2, .right = 1}, BorderMode::constant, {7, 8, 9}));
  for (const char* mode : {"edge", "reflect", "symmetric"}) {
    expect_pixels(pictures.through({Pad({1, 2, 3, 4}, {.padding_mode = mode})}, 2),
                  padded({.top = 2, .left = 1, .bottom = 4, .right = 3}, image::parse_border_mode(mode), {}));
  }
  EXPECT_EQ(to_string(rows_in_memory(2).map(Pad({1, 2, 3, 4})).columns()), "image u8[10,10,3], label i32[]");
}

TEST(GeometryTransforms, CropsFillWhatLiesOutside) {
  const Pictures pictures;
  const image::Image whole = pictures.decoded(3);
  expect_pixels(pictures.through({Crop(2, 3, {10, 12})}, 3), image::copy(image::crop(whole, {2, 3, 10, 12})));
  const image::Size size = image::padded_size(size_of(whole), {4, 4, 4, 4});
  image::Image wide(size.height, size.width);
  image::pad(whole, {4, 4, 4, 4}, image::BorderMode::constant, {1, 2, 3}, wide.data());
  expect_pixels(pictures.through({Crop(-4, -3, {9, 8}, {.fill = {1, 2, 3}})}, 3),
                image::copy(image::crop(wide, {0, 1, 9, 8})));
}

TEST(GeometryTransforms, RandomCropPadsAShortSideOnBothEnds) {
  const Pictures pictures;
  const image::Image small = image::resize(pictures.decoded(4), image::Size{10, 30});
  image::Image padded(20, 32);  // the missing height (5) above and below, and one pixel on every side before
  image::pad(small, {5, 1, 5, 1}, image::BorderMode::constant, {4, 5, 6}, padded.data());
  for (std::uint64_t epoch = 0; epoch < 10; ++epoch) {
    SampleRandom random = Pictures::draws("random_crop", 4, epoch);
    const auto top = static_cast<int>(random.integer(0, 4)), left = static_cast<int>(random.integer(0, 12));
    const Transform crop = RandomCrop({16, 20}, {.padding = 1, .pad_if_needed = true, .fill = {4, 5, 6}});
    expect_pixels(pictures.through({Resize({10, 30}), crop}, 4, epoch),
                  image::copy(image::crop(padded, {top, left, 16, 20})));
  }
}

TEST(GeometryTransforms, VerticalFlipTurnsBytesAndFloats) {
  const Pictures pictures;
  const image::Image whole = pictures.decoded(5);
  image::Image flipped = whole;
  image::flip_vertical(whole, flipped.data());
  expect_pixels(pictures.through({RandomVerticalFlip(1)}, 5), flipped);
  expect_pixels(pictures.through({RandomVerticalFlip(0)}, 5), whole);
  const image::Image cut = image::copy(image::crop(whole, image::center_crop(size_of(whole), {12, 10}).box));
  image::Image turned = cut;
  image::flip_vertical(cut, turned.data());
  expect_pixels(pictures.through({CenterCrop({12, 10}), RandomVerticalFlip(1)}, 5), turned);  // rows with padding
  const Tensor a = pictures.through({Resize({9, 9}), RandomVerticalFlip(1), Normalize::imagenet()}, 5);
  const Tensor b = pictures.through({Resize({9, 9}), Normalize::imagenet(), RandomVerticalFlip(1)}, 5);
  EXPECT_EQ(digest(a), digest(b));
}

TEST(GeometryTransforms, ResizeKnowsEveryFilterAndBothSizeRules) {
  const Pictures pictures;
  const image::Image whole = pictures.decoded(0);
  for (const image::Filter filter : image::all_filters()) {
    const std::string name(image::name_of(filter));
    expect_pixels(pictures.through({Resize({11, 17}, {.interpolation = name})}, 0),
                  image::resize(whole, image::Size{11, 17}, filter));
    SampleRandom random = Pictures::draws("random_resized_crop", 0);
    const image::Box box = image::random_resized_crop(size_of(whole), {}, random);
    expect_pixels(pictures.through({RandomResizedCrop({9, 8}, {.interpolation = name})}, 0),
                  image::resize(image::copy(image::crop(whole, box)), image::Size{9, 8}, filter));
  }
  int different = 0;
  for (int width = 11; width < 40; ++width) {
    const Dataset rows = InMemory({{"image", Tensor::zeros(DType::u8, Shape{1, 10, width, 3})}});
    for (int side = 1; side < 400; side += 3) {
      const image::Size torchvision = image::resized_short_side({10, width}, side);
      const image::Size mindata = image::resized_short_side({10, width}, side, image::SizeRule::mindata);
      different += torchvision == mindata ? 0 : 1;
      EXPECT_EQ(rows.map(Resize(side, {.size_rule = "mindata"})).columns()[0].shape,
                (Shape{mindata.height, mindata.width, 3}));
      EXPECT_EQ(rows.map(Resize(side)).columns()[0].shape, (Shape{torchvision.height, torchvision.width, 3}));
      if (torchvision == mindata || different > 3) continue;
      EXPECT_EQ(replay(rows.map(Resize(side, {.size_rule = "mindata"})), 0, 0).column("image").shape(),
                (Shape{mindata.height, mindata.width, 3}));
    }
  }
  EXPECT_GT(different, 0);
}

}  // namespace
}  // namespace ridgeline::data::testing
