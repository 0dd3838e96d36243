#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/image/normalize.h"
#include "ridgeline/image/pixels.h"
#include "support.h"

namespace ridgeline::image {
namespace {

using test::detailed_image;

TEST(Pixels, CropIsAViewOfTheSamePixels) {
  const Image image = detailed_image(9, 7, 3);
  const ImageView part = crop(image, {2, 3, 4, 2});
  EXPECT_EQ(part.data, image.row(2) + 9);
  EXPECT_EQ(copy(part).row(3)[5], image.row(5)[14]);
  EXPECT_THROW(crop(image, {6, 0, 4, 2}), Error);
}

TEST(Pixels, MirroringARowTurnsItsPixelsAndTwiceIsNothing) {
  for (const int width : {1, 2, 5, 6, 7, 8, 11, 40}) {
    const Image image = detailed_image(1, width, 3);
    const auto pixels = static_cast<std::size_t>(width);
    test::on_every_target([&] {
      Image mirrored(1, width), back(1, width);
      mirror_rgb(image.data(), pixels, mirrored.data());
      EXPECT_EQ(mirrored, test::flipped_horizontal(image));
      mirror_rgb(mirrored.data(), pixels, back.data());
      EXPECT_EQ(back, image);
    });
  }
}

TEST(Normalize, TheTableIsRoundedOnceFromDouble) {
  const NormalizeTable table(kImagenetMean, kImagenetStd);
  for (int c = 0; c < 3; ++c) {
    for (int v = 0; v < 256; ++v) {
      const auto i = static_cast<std::size_t>(c);
      const double exact = (v - 255.0 * kImagenetMean[i]) / (255.0 * kImagenetStd[i]);
      EXPECT_EQ(table.at(c, static_cast<std::uint8_t>(v)), static_cast<float>(exact));
    }
  }
  EXPECT_THROW(NormalizeTable({0, 0, 0}, {1, 0, 1}), Error);
}

TEST(Normalize, StreamedRowsAreTheSameOnEveryInstructionSet) {
  const NormalizeTable table(kImagenetMean, kImagenetStd);
  for (int width : {16, 33, 128, 224, 300}) {
    const Image image = detailed_image(1, width, 3);
    const auto n = static_cast<std::size_t>(width);
    const std::size_t plane = (n + 15) / 16 * 16;
    for (const std::size_t shift : {0, 1}) {  // aligned, and not
      std::vector<float> wanted(3 * n), wanted_planes(3 * plane), memory(3 * plane + 32);
      float* out = memory.data();
      while (reinterpret_cast<std::uintptr_t>(out) % 64 != 0) ++out;
      out += shift;
      for (bool flip : {false, true}) {
        table.row(image.row(0), n, flip, wanted.data());
        table.planar_row(image.row(0), n, flip, wanted_planes.data(), plane);
        test::on_every_target([&] {
          table.row(image.row(0), n, flip, out, Stores::streamed);
          finish_streamed();
          ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), out));
          table.planar_row(image.row(0), n, flip, out, plane, Stores::streamed);
          finish_streamed();
          for (std::size_t c = 0; c < 3; ++c)
            ASSERT_TRUE(std::equal(out + c * plane, out + c * plane + n, wanted_planes.data() + c * plane));
        });
      }
    }
  }
}

TEST(Normalize, TheTailIsTheTableOnEveryInstructionSet) {
  // Almost all tables are linear; the last one, with a mean far from every byte, is not.
  const NormalizeTable tables[] = {NormalizeTable(kImagenetMean, kImagenetStd), NormalizeTable({0, 0, 0}, {1, 1, 1}),
                                   NormalizeTable({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}),
                                   NormalizeTable({0.2, 0.4, 0.6}, {0.3, 0.21, 0.7}),
                                   NormalizeTable({1e6, 0.4, 0.6}, {0.001, 0.21, 0.7})};
  EXPECT_TRUE(tables[0].is_line());
  EXPECT_FALSE(tables[4].is_line());
  for (const NormalizeTable& table : tables) {
    for (int width : {1, 5, 6, 16, 33, 128, 129, 300}) {
      const Image image = detailed_image(4, width, 3);
      const ImageView part = crop(image, {1, 0, 3, width});
      test::on_every_target([&] {
        for (bool flip : {false, true}) {
          const std::size_t plane =
              static_cast<std::size_t>(3 * width) + 7;  // wider than needed for an image of 3 rows
          std::vector<float> out(static_cast<std::size_t>(3 * width * 3), -99.0f), planes(3 * plane, -99.0f);
          table.tail(part, flip, out.data());
          for (int y = 0; y < 3; ++y)
            table.planar_row(part.row(y), static_cast<std::size_t>(width), flip, planes.data() + y * width, plane);
          for (int y = 0; y < 3; ++y) {
            for (int x = 0; x < width; ++x) {
              for (int c = 0; c < 3; ++c) {
                const int from = flip ? width - 1 - x : x;
                const float expected = table.at(c, part.pixel(y, from)[c]);
                ASSERT_EQ(out[static_cast<std::size_t>((y * width + x) * 3 + c)], expected);
                ASSERT_EQ(planes[static_cast<std::size_t>(c) * plane + static_cast<std::size_t>(y * width + x)],
                          expected);
              }
            }
          }
          for (std::size_t c = 1; c <= 3; ++c) ASSERT_EQ(planes[c * plane - 1], -99.0f);  // nothing after a row
        }
      });
    }
  }
}

}  // namespace
}  // namespace ridgeline::image
