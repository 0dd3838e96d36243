// A region has the pixels of the whole image, in the formats that are not JPEG (jpeg_fast_test.cpp).
#include <gtest/gtest.h>

#include <array>

#include "bmp_samples.h"
#include "png_samples.h"
#include "ridgeline/core/error.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/png/png.h"
#include "support.h"
#include "tests/support/error_of.h"
#include "webp_samples.h"

namespace ridgeline::image {
namespace {

std::string png_of(int kind, SampleRandom& random) { return test::make_png(kind, random).bytes(); }

Box random_box(Size image, SampleRandom& random) {
  const auto part = [&](int side) {
    const auto begin = static_cast<int>(random.integer(0, side - 1));
    return std::array{begin, static_cast<int>(random.integer(1, side - begin))};
  };
  const auto [top, height] = part(image.height);
  const auto [left, width] = part(image.width);
  return {top, left, height, width};
}

struct Family {
  const char* name;
  int kinds;
  std::string (*make)(int kind, SampleRandom& random);
};

TEST(Region, HasThePixelsOfTheWholeImage) {
  SampleRandom random(philox_key(7, "region"), 0, 0);
  Decoder decoder;
  for (const Family& family : {Family{"png", test::png_kinds(), png_of},
                               {"webp", test::webp_kinds(), test::make_webp},
                               {"bmp", test::bmp_kinds(), test::make_bmp}}) {
    for (int kind = 0; kind < family.kinds; ++kind) {
      for (int repeat = 0; repeat < 12; ++repeat) {
        const std::string file = family.make(kind, random);
        const auto bytes = test::as_bytes(file);
        Image whole;
        const std::string error = ridgeline::error_of([&] { whole = decode(bytes); });
        if (!error.empty()) {
          EXPECT_EQ(ridgeline::error_of([&] { decode_region(bytes, {0, 0, 1, 1}); }), error);
          continue;
        }
        const Size size{whole.height(), whole.width()};
        for (int box = 0; box < 6; ++box) {
          const Box there = box == 0 ? Box{0, 0, size.height, size.width} : random_box(size, random);
          ASSERT_EQ(copy(decoder.decode_region(bytes, there)), copy(crop(whole, there)))
              << family.name << " " << kind << ": " << there.top << "+" << there.height << ", " << there.left << "+"
              << there.width << " of " << size.height << "x" << size.width;
        }
        EXPECT_THROW(decoder.decode_region(bytes, {0, 0, size.height + 1, 1}), Error);
        EXPECT_THROW(decoder.decode_region(bytes, {0, size.width, 1, 1}), Error);
      }
    }
  }
}

// Eight orientations, which Exif numbers from 1.
TEST(Region, IsThatOfTheUprightImage) {
  SampleRandom random(philox_key(8, "region"), 0, 0);
  const Image image = test::detailed_image(43, 61, 3);
  Decoder decoder;
  for (char orientation = 1; orientation <= 8; ++orientation) {
    const std::string file =
        test::webp_with_exif(image, std::string("Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", 25) +
                                        orientation + std::string(6, '\0'));
    const auto bytes = test::as_bytes(file);
    const Image whole = decode(bytes, ExifOrientation::apply);
    ASSERT_EQ(whole.height(), orientation < 5 ? 43 : 61);
    for (int k = 0; k < 20; ++k) {
      const Box box = random_box({whole.height(), whole.width()}, random);
      ASSERT_EQ(copy(decoder.decode_region(bytes, box, nullptr, nullptr, ExifOrientation::apply)),
                copy(crop(whole, box)));
    }
  }
}

// What lies outside of a PNG's region is still looked at.
TEST(Region, OfADamagedPngIsAnError) {
  const auto bytes = encode_png(test::detailed_image(60, 40, 3));
  for (std::size_t at = 60; at + 20 < bytes.size(); at += bytes.size() / 40) {
    auto damaged = bytes;
    damaged[at] ^= 0x10;
    EXPECT_EQ(ridgeline::error_of([&] { decode_png_region(damaged, {0, 0, 2, 2}); }),
              ridgeline::error_of([&] { decode_png(damaged); }));
    damaged.resize(at);
    EXPECT_EQ(ridgeline::error_of([&] { decode_png_region(damaged, {0, 0, 2, 2}); }),
              ridgeline::error_of([&] { decode_png(damaged); }));
  }
}

}  // namespace
}  // namespace ridgeline::image
