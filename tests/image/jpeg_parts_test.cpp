// The parts of our JPEG decoder compared with their simple rules.
#include <algorithm>

#include <gtest/gtest.h>

#include "ridgeline/core/random.h"
#include "ridgeline/image/jpeg/colour.h"
#include "ridgeline/image/jpeg/idct.h"
#include "ridgeline/image/jpeg/unstuff.h"
#include "support.h"

namespace ridgeline::image {
namespace {

using test::on_every_target;

constexpr int kSlack = 3;  // blocks that may be read and written after the end of a row

TEST(JpegParts, TheInverseTransformEqualsThePlainRuleOnEveryInstructionSet) {
  SampleRandom random(philox_key(1, "blocks"), 0, 0);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    const int count = static_cast<int>(random.integer(1, 9));
    std::vector<std::int16_t> coefficients(static_cast<std::size_t>(count + kSlack) * 64);
    std::vector<std::uint8_t> last(static_cast<std::size_t>(count + kSlack));
    std::array<std::uint16_t, 64> quant{};
    for (auto& q : quant) q = static_cast<std::uint16_t>(random.integer(0, round % 3 == 0 ? 255 : 20));
    // From normal values to those that occur only in damaged files.
    const std::int64_t largest = round % 5 == 0 ? 32767 : round % 5 == 1 ? 1023 : 60;
    for (int i = 0; i < count; ++i) {
      const std::int64_t limits[] = {0, 5, 9, 10, 63};
      const int end = static_cast<int>(limits[random.integer(0, 4)]);
      last[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(end);
      for (int k = 0; k <= end; ++k) {
        if (k > 0 && random.integer(0, 2) == 0) continue;
        const std::int64_t limit = k == 0 || random.integer(0, 1) ? std::min<std::int64_t>(largest, 400) : largest;
        coefficients[64 * static_cast<std::size_t>(i) + static_cast<std::size_t>(k)] =
            static_cast<std::int16_t>(random.integer(-limit, limit));
      }
    }
    const std::ptrdiff_t stride = 8 * (count + kSlack);
    std::vector<std::uint8_t> expected(static_cast<std::size_t>(8 * stride)), pixels(expected.size());
    IdctRow row{coefficients.data(), last.data(), quant.data(), count, expected.data(), stride};
    const bool good = inverse_dct_plain(row);
    refused += !good;
    row.out = pixels.data();
    on_every_target([&] {
      ASSERT_EQ(inverse_dct(row), good) << round;
      for (int y = 0; y < 8 && good; ++y) {
        const std::ptrdiff_t at = y * stride;
        ASSERT_TRUE(std::equal(pixels.begin() + at, pixels.begin() + at + 8 * count, expected.begin() + at))
            << round << " row " << y;
      }
    });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(refused, 50);
  EXPECT_LT(refused, 1500);
}

TEST(JpegParts, ColoursAreThoseOfLibjpegsTables) {
  // Every pair of chroma values, with luma in all phases.
  std::vector<std::uint8_t> y(256 + kColourSlack), cb(y), cr(y), rgb(3 * y.size());
  on_every_target([&] {
    for (int blue = 0; blue < 256; ++blue) {
      for (int i = 0; i < 256; ++i) {
        const auto at = static_cast<std::size_t>(i);
        y[at] = static_cast<std::uint8_t>(i * 7 + blue);
        cb[at] = static_cast<std::uint8_t>(blue);
        cr[at] = static_cast<std::uint8_t>(i);
      }
      ycc_to_rgb(y.data(), cb.data(), cr.data(), 256, rgb.data());
      for (int i = 0; i < 256; ++i) {  // jdcolor.c, build_ycc_rgb_table
        const int luma = y[static_cast<std::size_t>(i)], b = blue - 128, r = i - 128;
        const int wanted[] = {luma + ((91881 * r + 32768) >> 16), luma + ((-22554 * b - 46802 * r + 32768) >> 16),
                              luma + ((116130 * b + 32768) >> 16)};
        for (int c = 0; c < 3; ++c) {
          ASSERT_EQ(rgb[static_cast<std::size_t>(3 * i + c)], std::clamp(wanted[c], 0, 255)) << blue << " " << i;
        }
      }
    }
  });
}

TEST(JpegParts, UnstuffingStopsAtMarkersAndKnowsPlacesInTheFile) {
  SampleRandom random(philox_key(2, "stuffing"), 0, 0);
  Unstuffed data;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint8_t> plain, file;
    std::vector<std::size_t> place;
    const int size = static_cast<int>(random.integer(0, 400));
    for (int i = 0; i < size; ++i) {
      plain.push_back(random.integer(0, 9) == 0 ? std::uint8_t{0xff}
                                                : static_cast<std::uint8_t>(random.integer(0, 255)));
      place.push_back(file.size());
      file.push_back(plain.back());
      if (plain.back() == 0xff) file.push_back(0);
    }
    const bool marked = round % 3 != 0;
    if (marked) file.insert(file.end(), {0xff, 0xd9, 1, 2, 3});
    on_every_target([&] {
      data.read(file, 0, file.size(), -1);
      ASSERT_EQ(data.size(), plain.size());
      ASSERT_TRUE(std::equal(plain.begin(), plain.end(), data.data()));
      ASSERT_EQ(data.marker(), marked ? 0xd9 : 0);
      for (std::size_t i = 0; i < kReadSlack; ++i) ASSERT_EQ(data.data()[data.size() + i], 0);
      std::size_t cursor = 0;
      for (std::size_t i = 0; i < place.size(); ++i) ASSERT_EQ(data.file_position(i, cursor), place[i]);
    });
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace ridgeline::image
