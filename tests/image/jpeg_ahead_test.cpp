// A first decode with a second stream ahead: pixels, accepted files and indices are libjpeg's, wherever the streams
// meet.
#include <algorithm>

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"
#include "ridgeline/image/jpeg/jpeg.h"
#include "ridgeline/image/pixels.h"
#include "support.h"

namespace ridgeline::image {
namespace {

using test::detailed_image;
using test::on_every_target;
using test::plain_encode;
using Bytes = std::vector<std::uint8_t>;

// Large enough for several runs ahead. `flat`: rows of one colour at the top, so that the middle of the data is not the
// middle of the image.
Bytes encode_tall(int height, int width, std::pair<int, int> sampling, int quality, bool own_tables, int flat = 0) {
  test::PlainEncoding e;
  const bool grey = sampling.first == 0;
  if (!grey) std::tie(e.h, e.v) = sampling;
  e.quality = quality;
  e.own_tables = own_tables;
  Image image = detailed_image(height, width, grey ? 1 : 3, static_cast<std::uint64_t>(quality));
  if (flat > 0) std::fill(image.row(0), image.row(flat), std::uint8_t{77});
  return plain_encode(image, e);
}

TEST(JpegAhead, LargeImagesEqualLibjpegOnEveryInstructionSet) {
  JpegDecoder own({}, JpegPath::own), one({}, JpegPath::one_stream), libjpeg({}, JpegPath::libjpeg);
  SampleRandom random(philox_key(1, "ahead"), 0, 0);
  for (const auto& sampling : test::kLumaSamplings) {
    for (const int quality : {5, 60, 98}) {
      for (const int flat : {0, 300}) {
        const int height = 700, width = 613;
        const Bytes bytes = encode_tall(height, width, sampling, quality, quality == 60, flat);
        const Image whole = copy(libjpeg.decode(bytes));
        on_every_target([&] {
          JpegIndex index;
          ASSERT_EQ(copy(own.decode(bytes, nullptr, &index)), whole)
              << sampling.first << sampling.second << " " << flat;
          ASSERT_FALSE(own.decoded_by_libjpeg());
          JpegIndex of_one;
          ASSERT_EQ(copy(one.decode(bytes, nullptr, &of_one)), whole);
          ASSERT_FALSE(one.decoded_by_libjpeg());
          ASSERT_EQ(of_one, index);
          ASSERT_EQ(copy(own.decode(bytes, &index)), whole);  // compares the index with the data
          ASSERT_FALSE(own.decoded_by_libjpeg());
          for (int i = 0; i < 4; ++i) {
            Box box;
            box.height = static_cast<int>(random.integer(1, height));
            box.width = static_cast<int>(random.integer(1, width));
            box.top = static_cast<int>(random.integer(0, height - box.height));
            box.left = static_cast<int>(random.integer(0, width - box.width));
            JpegIndex early;
            ASSERT_EQ(copy(own.decode_region(bytes, box, nullptr, &early)), copy(crop(whole, box)));
            ASSERT_EQ(copy(own.decode(bytes, &early, &early)), whole);
            ASSERT_EQ(early, index);
          }
        });
      }
    }
  }
}

// Steps of one MCU row are too short for a second stream: their index is that of one stream.
TEST(JpegAhead, TheIndexIsThatOfOneStream) {
  JpegDecoder own({}, JpegPath::own);
  for (const auto& sampling : test::kLumaSamplings) {
    const int height = 512, width = 500;
    const Bytes bytes = encode_tall(height, width, sampling, 85, false);
    JpegIndex growing, index;
    for (int row = 8; row <= height; row += 8) own.decode_region(bytes, {row - 8, 0, 8, width}, &growing, &growing);
    own.decode(bytes, nullptr, &index);
    ASSERT_EQ(growing, index) << sampling.first << sampling.second;
  }
}

TEST(JpegAhead, DamagedLargeFilesGetLibjpegsVerdictOrPixels) {
  JpegDecoder own({1 << 20, 50}, JpegPath::own), libjpeg({1 << 20, 50}, JpegPath::libjpeg);
  SampleRandom random(philox_key(2, "damage"), 0, 0);
  int errors = 0, by_own = 0;
  for (const auto& sampling : test::kLumaSamplings) {
    const int height = 300, width = 310;
    const Bytes good = encode_tall(height, width, sampling, 70, false);
    for (int i = 0; i < 60; ++i) {
      Bytes bad = good;
      for (int k = 0; k <= i % 2; ++k) {
        const auto at = static_cast<std::size_t>(random.integer(700, static_cast<std::int64_t>(bad.size()) - 1));
        bad[at] = static_cast<std::uint8_t>(bad[at] ^ 1 << random.integer(0, 7));
      }
      if (i % 10 == 0) bad.resize(bad.size() * static_cast<std::size_t>(random.integer(40, 99)) / 100);
      const auto result = [&](JpegDecoder& decoder) -> std::pair<Image, std::string> {
        try {
          Image image = copy(decoder.decode(bad));
          return {std::move(image), std::to_string(decoder.warnings())};
        } catch (const Error& e) {
          return {Image(), e.what()};
        }
      };
      const auto expected = result(libjpeg);
      errors += expected.first.height() == 0;
      ASSERT_EQ(result(own), expected) << sampling.first << sampling.second << " " << i;
      by_own += !own.decoded_by_libjpeg();
    }
  }
  EXPECT_GT(errors, 10);
  EXPECT_GT(by_own, 10);
}

}  // namespace
}  // namespace ridgeline::image
