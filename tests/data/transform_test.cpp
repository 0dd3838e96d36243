// The result of each transform on an image, against the functions of image/ called one by one.
#include "pictures.h"
#include "ridgeline/image/augment/border.h"
#include "ridgeline/image/geometry.h"
#include "ridgeline/image/normalize.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/resample/resample.h"

namespace ridgeline::data::testing {
namespace {

image::Image mirrored(const image::Image& image) {
  image::Image result = image;
  for (int y = 0; y < image.height(); ++y)
    image::mirror_rgb(image.row(y), static_cast<std::size_t>(image.width()), result.row(y));
  return result;
}

image::Image black_around(const image::Image& image, const image::Border& border) {
  const image::Size size = image::padded_size({image.height(), image.width()}, border);
  image::Image result(size.height, size.width);
  image::pad(image, border, image::BorderMode::constant, {}, result.data());
  return result;
}

TEST(Transforms, ResizeAndCenterCropAreDecodeResizeAndCrop) {
  const Pictures pictures;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const image::Image whole = pictures.decoded(i);
    const image::Size size = image::resized_short_side({whole.height(), whole.width()}, 30);
    const image::Image resized = image::resize(whole, size, image::Filter::bicubic);
    const image::CenterCrop crop = image::center_crop(size, {24, 20});
    expect_pixels(pictures.through({Resize(30, {.interpolation = "bicubic"}), CenterCrop({24, 20})}, i),
                  image::copy(image::crop(resized, crop.box)));
    expect_pixels(pictures.through({Resize({11, 17})}, i), image::resize(whole, image::Size{11, 17}));
  }
}

TEST(Transforms, CenterCropPadsWithZeros) {
  const Pictures pictures;
  const image::Image small = image::resize(pictures.decoded(1), image::Size{10, 15});
  const image::CenterCrop crop = image::center_crop({10, 15}, {21, 12});
  const image::Image padded = black_around(small, {crop.pad_top, crop.pad_left, crop.pad_bottom, crop.pad_right});
  expect_pixels(pictures.through({Resize({10, 15}), CenterCrop({21, 12})}, 1),
                image::copy(image::crop(padded, crop.box)));
}

TEST(Transforms, RandomResizedCropDrawsByNameEpochAndRecord) {
  const Pictures pictures;
  for (std::uint64_t i = 0; i < 6; ++i) {
    for (const std::uint64_t epoch : {0, 4}) {
      const image::Image whole = pictures.decoded(i);
      SampleRandom random(philox_key(3, "random_resized_crop"), epoch, i);
      const image::Box box = image::random_resized_crop({whole.height(), whole.width()}, {0.2, 0.9, 0.5, 2.0}, random);
      const image::Image cropped = image::copy(image::crop(whole, box));
      expect_pixels(
          pictures.through({RandomResizedCrop({16, 12}, {.scale = {0.2, 0.9}, .ratio = {0.5, 2.0}})}, i, epoch),
          image::resize(cropped, image::Size{16, 12}));
    }
  }
}

TEST(Transforms, FlipsDependOnTheirProbability) {
  const Pictures pictures;
  const image::Image plain = image::resize(pictures.decoded(2), image::Size{9, 9});
  expect_pixels(pictures.through({Resize({9, 9}), RandomHorizontalFlip(1.0)}, 2), mirrored(plain));
  expect_pixels(pictures.through({Resize({9, 9}), RandomHorizontalFlip(0.0)}, 2), plain);
  int flipped = 0;
  const Dataset data = rows_in_memory(2000).map(RandomHorizontalFlip(0.3)).batch(2000);
  Iterator it(data, {.raw_images = true, .pull = true});
  const auto batch = it.next();
  for (int i = 0; i < 2000; ++i) flipped += batch->flip().data<std::uint8_t>()[i];
  EXPECT_NEAR(flipped, 600, 4 * 20.5);  // four standard deviations
}

TEST(Transforms, RandomCropTakesAWindowOfThePaddedImage) {
  const Pictures pictures;
  const image::Image plain = image::resize(pictures.decoded(3), image::Size{12, 12});
  const image::Image padded = black_around(plain, {3, 3, 3, 3});
  bool beyond = false;
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    SampleRandom random(philox_key(3, "random_crop"), epoch, 3);
    const auto top = static_cast<int>(random.integer(0, 6)), left = static_cast<int>(random.integer(0, 6));
    beyond |= top != 3 || left != 3;
    expect_pixels(pictures.through({Resize({12, 12}), RandomCropWithPadding(12, 3)}, 3, epoch),
                  image::copy(image::crop(padded, {top, left, 12, 12})));
  }
  EXPECT_TRUE(beyond);
  EXPECT_ERROR(pictures.through({Resize({12, 12}), RandomCropWithPadding(20, 3)}, 3), "a crop of 20x20 does not fit");
}

TEST(Transforms, NormalizeIsTheTableOfTheImageTail) {
  const Pictures pictures;
  const image::Image plain = image::resize(pictures.decoded(4), image::Size{9, 9});
  std::vector<float> wanted(9 * 9 * 3);
  image::NormalizeTable(image::kImagenetMean, image::kImagenetStd).tail(plain, true, wanted.data());
  const Tensor got = pictures.through({Resize({9, 9}), RandomHorizontalFlip(1.0), Normalize::imagenet()}, 4);
  ASSERT_EQ(got.dtype(), DType::f32);
  EXPECT_EQ(std::memcmp(got.raw(), wanted.data(), wanted.size() * sizeof(float)), 0);
}

TEST(Transforms, FloatImagesInMemoryCanBeFlipped) {
  const Tensor images = Tensor::of<float>({1, 2, 3, 4, 5, 6}, Shape{1, 2, 3, 1});
  const Dataset data = InMemory({{"image", images}}).map(RandomHorizontalFlip(1.0));
  for (const bool fused : {true, false}) {
    const std::vector<std::string> off = fused ? std::vector<std::string>{} : std::vector<std::string>{"fuse_write"};
    const Tensor got = replay(data, 0, 0, {.disabled_passes = off}).column("image");
    EXPECT_EQ(std::vector<float>(got.data<float>(), got.data<float>() + 6), (std::vector<float>{3, 2, 1, 6, 5, 4}));
  }
}

}  // namespace
}  // namespace ridgeline::data::testing
