#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "ridgeline/image/jpeg/jpeg.h"
#include "ridgeline/image/pixels.h"
#include "support.h"
#include "tests/support/error_of.h"

namespace ridgeline::image {
namespace {

using test::detailed_image;
using test::plain_encode;
using test::plain_jpeg;
using test::PlainEncoding;

std::string error_of(const std::vector<std::uint8_t>& bytes, DecodeLimits limits = {}) {
  return ridgeline::error_of([&] { JpegDecoder(limits).decode(bytes); });
}

std::vector<PlainEncoding> encodings() {
  std::vector<PlainEncoding> list;
  for (const auto& [h, v] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}}) {
    PlainEncoding e;
    e.h = h;
    e.v = v;
    list.push_back(e);
    e.progressive = true;
    list.push_back(e);
    e.progressive = false;
    e.one_scan_each = true;
    list.push_back(e);
    e.one_scan_each = false;
    e.restart = 3;
    list.push_back(e);
  }
  return list;
}

TEST(Jpeg, DecodesAsPlainLibjpegDoes) {
  JpegDecoder decoder;
  for (const auto& [height, width] : {std::pair{1, 1}, {7, 9}, {33, 17}, {100, 131}}) {
    for (const PlainEncoding& e : encodings()) {
      const auto bytes = plain_encode(detailed_image(height, width, 3), e);
      EXPECT_EQ(copy(decoder.decode(bytes)), plain_jpeg(bytes, true)) << height << "x" << width << " " << e.h << e.v;
    }
  }
}

TEST(Jpeg, GreyBecomesThreeEqualChannels) {
  const auto bytes = plain_encode(detailed_image(30, 41, 1), {});
  const Image grey = plain_jpeg(bytes, false), rgb = copy(JpegDecoder().decode(bytes));
  ASSERT_EQ(grey.channels(), 1);
  for (int i = 0; i < 30 * 41 * 3; ++i) ASSERT_EQ(rgb.data()[i], grey.data()[i / 3]);
}

TEST(Jpeg, CmykAndYcckFollowPillowsFormulaOnInvertedValues) {
  for (bool cmyk : {false, true}) {
    PlainEncoding e;
    e.cmyk = cmyk;
    const auto bytes = plain_encode(detailed_image(40, 50, 4), e);
    const Image raw = plain_jpeg(bytes, false), rgb = copy(JpegDecoder().decode(bytes));
    ASSERT_EQ(raw.channels(), 4);
    for (int i = 0; i < 40 * 50; ++i) {
      const std::uint8_t* p = raw.data() + 4 * i;
      for (int c = 0; c < 3; ++c) {  // Convert.c: CLIP8(nk - MULDIV255(c, nk)), nk = 255 - k, of 255 - stored values
        const int nk = 255 - (255 - p[3]), product = (255 - p[c]) * nk + 128;
        ASSERT_EQ(rgb.data()[3 * i + c], std::max(0, nk - ((product >> 8) + product) / 256));
      }
    }
    const Box box{5, 6, 20, 21};
    JpegDecoder decoder;
    EXPECT_EQ(copy(decoder.decode_region(bytes, box)), copy(crop(rgb, box)));
    EXPECT_TRUE(decoder.decoded_fully());
  }
}

TEST(Jpeg, ARegionEqualsThatPartOfTheWholeImageForEverySubsampling) {
  JpegDecoder whole, part;
  SampleRandom random(philox_key(7, "regions"), 0, 0);
  for (const auto& [height, width] : {std::pair{131, 203}, {64, 64}, {17, 250}, {250, 5}, {1, 40}}) {
    auto list = encodings();
    for (std::size_t k = 0; k <= list.size(); ++k) {
      const bool grey = k == list.size();
      const PlainEncoding e = grey ? PlainEncoding{} : list[k];
      const auto bytes = plain_encode(detailed_image(height, width, grey ? 1 : 3), e);
      const Image full = copy(whole.decode(bytes));
      for (int i = 0; i < 40; ++i) {
        Box box;
        box.height = static_cast<int>(random.integer(1, i % 4 == 0 ? std::min(height, 4) : height));
        box.width = static_cast<int>(random.integer(1, i % 4 == 1 ? std::min(width, 4) : width));
        box.top = static_cast<int>(random.integer(0, height - box.height));
        box.left = static_cast<int>(random.integer(0, width - box.width));
        ASSERT_EQ(copy(part.decode_region(bytes, box)), copy(crop(full, box)))
            << height << "x" << width << " sampling " << e.h << "x" << e.v << " progressive " << e.progressive
            << " one scan each " << e.one_scan_each << " restart " << e.restart << " grey " << grey << " box "
            << box.top << " " << box.left << " " << box.height << " " << box.width;
        ASSERT_FALSE(part.decoded_fully());
      }
    }
  }
}

TEST(Jpeg, ArithmeticCodingAndUnusualSamplingFallBackToTheWholeImage) {
  const Image source = detailed_image(90, 110, 3);
  PlainEncoding arithmetic, tall;
  arithmetic.arithmetic = true;
  tall.h = 3;
  for (const PlainEncoding& e : {arithmetic, tall}) {
    const auto bytes = plain_encode(source, e);
    JpegDecoder decoder;
    const Image full = copy(decoder.decode(bytes));
    const Box box{40, 30, 20, 20};
    EXPECT_EQ(copy(decoder.decode_region(bytes, box)), copy(crop(full, box)));
    EXPECT_TRUE(decoder.decoded_fully());
  }
}

TEST(Jpeg, AProgressiveFileWithoutItsLastScansFallsBackToTheWholeImage) {
  PlainEncoding e;
  e.progressive = true;
  e.h = e.v = 2;
  auto bytes = plain_encode(detailed_image(96, 96, 3), e);
  // Truncate at the third scan and end the file correctly: libjpeg then smooths across blocks.
  std::size_t scans = 0, cut = 0;
  for (std::size_t i = 0; i + 1 < bytes.size() && cut == 0; ++i) {
    if (bytes[i] == 0xff && bytes[i + 1] == 0xda && ++scans == 2) cut = i;
  }
  bytes.resize(cut);
  bytes.insert(bytes.end(), {0xff, 0xd9});
  JpegDecoder decoder;
  const Image full = copy(decoder.decode(bytes));
  EXPECT_EQ(full, plain_jpeg(bytes, true));
  const Box box{30, 40, 31, 23};
  EXPECT_EQ(copy(decoder.decode_region(bytes, box)), copy(crop(full, box)));
  EXPECT_TRUE(decoder.decoded_fully());
}

TEST(Jpeg, ABoxOutsideTheImageIsAnError) {
  const auto bytes = plain_encode(detailed_image(20, 30, 3), {});
  JpegDecoder decoder;
  for (const Box& box :
       {Box{0, 0, 21, 30}, Box{-1, 0, 5, 5}, Box{0, 26, 5, 5}, Box{0, 0, 0, 5}, Box{2000000000, 0, 2000000000, 5}}) {
    EXPECT_THROW(decoder.decode_region(bytes, box), Error);
    EXPECT_EQ(decoder.decode(bytes).height, 20);  // ready for the next image
  }
}

TEST(Jpeg, ATruncatedFileIsAnErrorWhereverItEnds) {
  const auto bytes = plain_encode(detailed_image(50, 60, 3), {});
  for (std::size_t keep = 3; keep < bytes.size(); keep += 1 + keep / 5) {
    auto cut = bytes;
    cut.resize(keep);
    EXPECT_EQ(error_of(cut), "[jpeg] Premature end of JPEG file") << keep;
  }
  EXPECT_EQ(error_of({}), "[jpeg] Premature end of JPEG file");
}

TEST(Jpeg, TablesOfAnEarlierFileAreNotLentToOneWithoutTables) {
  const auto good = plain_encode(detailed_image(20, 20, 3), {});
  std::vector<std::uint8_t> bare;  // without its quantisation tables
  for (std::size_t i = 0; i < good.size();) {
    if (i + 3 < good.size() && good[i] == 0xff && good[i + 1] == 0xdb) {
      i += 2 + static_cast<std::size_t>(good[i + 2] * 256 + good[i + 3]);
    } else {
      bare.push_back(good[i++]);
    }
  }
  JpegDecoder decoder;
  decoder.decode(good);
  EXPECT_THROW(decoder.decode(bare), Error);
}

TEST(Jpeg, OtherWarningsAreCountedAndTheImageIsReturned) {
  PlainEncoding e;
  e.restart = 1;
  auto bytes = plain_encode(detailed_image(50, 60, 3), e);
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    if (bytes[i] == 0xff && bytes[i + 1] == 0xd0) {
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(i), {1, 2, 3, 4});  // extraneous bytes before a marker
      break;
    }
  }
  JpegDecoder decoder;
  EXPECT_EQ(decoder.decode(bytes).height, 50);
  EXPECT_EQ(decoder.warnings(), 1);
  decoder.decode(plain_encode(detailed_image(5, 6, 3), {}));
  EXPECT_EQ(decoder.warnings(), 0);
}

TEST(Jpeg, AnAbsurdHeaderIsRefusedBeforeMemoryIsTaken) {
  auto bytes = plain_encode(detailed_image(16, 16, 3), {});
  for (std::size_t i = 2; i + 9 < bytes.size(); ++i) {
    if (bytes[i] == 0xff && bytes[i + 1] == 0xc0) {
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(i) + 5, 4, 0xff);  // 65535x65535; libjpeg allows 65500
      EXPECT_NE(error_of(bytes), "");
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(i) + 5, 4, 0x7f);
      break;
    }
  }
  EXPECT_EQ(error_of(bytes), "[jpeg] 32639x32639 pixels are more than the limit of 268435456");
  EXPECT_EQ(error_of(plain_encode(detailed_image(16, 16, 3), {}), {255, 100}),
            "[jpeg] 16x16 pixels are more than the limit of 255");
}

TEST(Jpeg, AScanBombIsRefused) {
  PlainEncoding e;
  e.progressive = true;
  auto bytes = plain_encode(detailed_image(16, 16, 3), e);
  std::size_t last = 0;  // repeat the last scan
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    if (bytes[i] == 0xff && bytes[i + 1] == 0xda) last = i;
  }
  const std::vector<std::uint8_t> scan(bytes.begin() + static_cast<std::ptrdiff_t>(last), bytes.end() - 2);
  for (int i = 0; i < 1000; ++i) bytes.insert(bytes.end() - 2, scan.begin(), scan.end());
  EXPECT_EQ(error_of(bytes), "[jpeg] more than 500 scans");
}

TEST(Jpeg, EncodingIsDeterministicAndDecodesCloseToItsSource) {
  const Image source = detailed_image(61, 83, 3);
  for (Subsampling s : {Subsampling::s444, Subsampling::s422, Subsampling::s420, Subsampling::s440, Subsampling::s411,
                        Subsampling::s410}) {
    const auto bytes = encode_jpeg(source, 90, s);
    EXPECT_EQ(bytes, encode_jpeg(source, 90, s));
    EXPECT_EQ(copy(JpegDecoder().decode(bytes)), plain_jpeg(bytes, true));
  }
  const Image exact = copy(JpegDecoder().decode(encode_jpeg(source, 100, Subsampling::s444)));
  for (std::size_t i = 0; i < source.byte_size(); ++i) ASSERT_LE(std::abs(source.data()[i] - exact.data()[i]), 4);
  EXPECT_THROW(encode_jpeg(source, 0), Error);
  EXPECT_THROW(encode_jpeg(detailed_image(4, 4, 2), 90), Error);
  EXPECT_THROW(encode_jpeg(Image(0, 0), 90), Error);
}

TEST(Jpeg, FlippedBytesNeverCrashAndTheDecoderStaysUsable) {
  SampleRandom random(philox_key(3, "fuzz"), 0, 0);
  JpegDecoder decoder({1 << 20, 50});
  int errors = 0;
  const Image source = detailed_image(40, 48, 3);
  for (const PlainEncoding& e : encodings()) {
    const auto good = plain_encode(source, e);
    const Image expected = copy(decoder.decode(good));
    for (int i = 0; i < 60; ++i) {
      auto bad = good;
      for (int k = 0; k <= i % 3; ++k) {
        bad[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bad.size()) - 1))] =
            static_cast<std::uint8_t>(random.integer(0, 255));
      }
      try {
        decoder.decode(bad);
        decoder.decode_region(bad, {3, 4, 7, 9});
      } catch (const Error&) {
        ++errors;
      }
    }
    ASSERT_EQ(copy(decoder.decode(good)), expected);
  }
  EXPECT_GT(errors, 100);
}

TEST(Jpeg, RealFilesDecodeAsPlainLibjpegDoes) {
  if (test::pack_a().empty()) GTEST_SKIP() << "RIDGELINE_TEST_DATA is not set";
  JpegDecoder decoder;
  for (const char* name :
       {"awkward/libjpeg-turbo/testimages/testorig.jpg", "awkward/libjpeg-turbo/testimages/testimgari.jpg",
        "awkward/libjpeg-turbo/testimages/testimgint.jpg", "awkward/dali/db/single/missnamed/png/0/jpeg.png",
        "awkward/jpeg-decoder/tests/reftest/images/mjpeg.jpg"}) {
    const auto bytes = test::as_bytes(read_file(test::pack_a() + "/" + name));
    const Image full = copy(decoder.decode(bytes));
    EXPECT_EQ(full, plain_jpeg(bytes, true)) << name;
    const Box box{full.height() / 3, full.width() / 4, full.height() / 2, full.width() / 3};
    EXPECT_EQ(copy(decoder.decode_region(bytes, box)), copy(crop(full, box))) << name;
  }
}

}  // namespace
}  // namespace ridgeline::image
