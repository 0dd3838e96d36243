#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

#include "png_samples.h"
#include "ridgeline/core/error.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/png/png.h"
#include "support.h"
#include "tests/support/error_of.h"

namespace ridgeline::image {
namespace {

using test::detailed_image;

std::string error_of(const std::vector<std::uint8_t>& bytes, DecodeLimits limits = {}) {
  return ridgeline::error_of([&] { decode_png(bytes, limits); });
}

TEST(Png, WhatIsEncodedIsDecoded) {
  const Image colour = detailed_image(37, 53, 3), grey = detailed_image(20, 31, 1);
  EXPECT_EQ(decode_png(encode_png(colour)), colour);
  const Image decoded = decode_png(encode_png(grey));
  for (int i = 0; i < 20 * 31 * 3; ++i) ASSERT_EQ(decoded.data()[i], grey.data()[i / 3]);
  EXPECT_THROW(encode_png(detailed_image(3, 3, 4)), Error);
}

std::vector<std::uint8_t> bytes_of(const test::PngSample& png) {
  const std::string bytes = png.bytes();
  return {bytes.begin(), bytes.end()};
}

TEST(Png, PixelsAreTheSameHoweverTheirStreamIsCutIntoChunks) {
  const Image image = detailed_image(200, 300, 3);
  const std::vector<std::uint8_t> encoded = encode_png(image);
  test::PngSample png;
  std::string stream;
  for (std::size_t at = 8; at < encoded.size();) {
    const auto* chunk = reinterpret_cast<const char*>(encoded.data()) + at;
    const std::size_t size = std::size_t{encoded[at + 1]} << 16 | std::size_t{encoded[at + 2]} << 8 | encoded[at + 3];
    if (const std::string name(chunk + 4, 4); name == "IHDR")
      png.chunks.push_back({name, std::string(chunk + 8, size)});
    else if (name == "IDAT")
      stream.append(chunk + 8, size);
    at += size + 12;
  }
  ASSERT_GT(stream.size(), 65536u);
  const std::size_t size = stream.size();
  for (const std::size_t each : {std::size_t{7}, std::size_t{8192}, size - 4, size - 5, size}) {
    test::PngSample cut = png;
    for (std::size_t at = 0; at < size; at += each) cut.chunks.push_back({"IDAT", stream.substr(at, each)});
    EXPECT_EQ(decode_png(bytes_of(cut)), image) << each;  // no end
    cut.chunks.push_back({"IEND", ""});
    EXPECT_EQ(decode_png(bytes_of(cut)), image) << each;
    auto longer = bytes_of(cut);
    longer.resize(longer.size() - 16);  // nothing after the pixels
    EXPECT_EQ(decode_png(longer), image) << each;
  }
}

// A colour for every number a pixel may have, so that decode_png tells the number: grey of its upper 8 bits.
void name_colours(test::PngSample& png, int depth) {
  std::string colours;
  for (int i = 0; i < 1 << depth; ++i) colours += std::string(3, static_cast<char>(i));
  for (test::PngChunk& chunk : png.chunks)
    if (chunk.name == "PLTE") chunk.data = colours;
}

TEST(Png, ValuesAreWhatTheFileHasForColours) {
  SampleRandom random(philox_key(3, "values"), 0, 0);
  int compared = 0, refused = 0;
  for (int kind = 0; kind < test::png_kinds(); ++kind) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      test::PngSample png = test::make_png(kind, random);
      const int depth = png.chunks[0].data[8], type = png.chunks[0].data[9];
      if (type == 3) name_colours(png, depth);
      const std::vector<std::uint8_t> bytes = bytes_of(png);
      if (type == 2 || type == 4 || type == 6) {
        EXPECT_EQ(ridgeline::error_of([&] { decode_png_values(bytes); }),
                  "[png] " + std::to_string(type == 2 ? 3 : type - 2) +
                      " values a pixel, a mask has one (allowed: grey, palette)");
        ++refused;
        continue;
      }
      const Image image = decode_png(bytes);
      const PngValues values = decode_png_values(bytes);
      ASSERT_EQ((Size{values.height, values.width}), (Size{image.height(), image.width()}));
      ASSERT_EQ(values.bytes, depth == 16 ? 2 : 1);
      const int scale = type == 0 && depth < 8 ? 255 / ((1 << depth) - 1) : 1;
      for (std::size_t i = 0; i < image.byte_size() / 3; ++i) {
        std::uint16_t wide = values.memory[i];
        if (depth == 16) std::memcpy(&wide, values.memory.data() + 2 * i, 2);
        ASSERT_EQ((depth == 16 ? wide >> 8 : wide) * scale, image.data()[3 * i]) << kind << " " << i;
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, 20 * 18);
  EXPECT_EQ(refused, 20 * 12);
}

TEST(Png, ValuesOfRowsThatAreMissingAreAnError) {
  SampleRandom random(philox_key(4, "rows"), 0, 0);
  for (int kind = 0; kind < test::png_kinds(); ++kind) {
    test::PngSample png = test::make_png(kind, random);
    const int type = png.chunks[0].data[9];
    if (type != 0 && type != 3) continue;
    std::string stream(::compressBound(0), '\0');  // of no rows at all
    uLongf size = stream.size();
    ::compress(reinterpret_cast<Bytef*>(stream.data()), &size, nullptr, 0);
    test::PngSample empty;
    for (const test::PngChunk& chunk : png.chunks)
      if (chunk.name == "IHDR" || chunk.name == "PLTE") empty.chunks.push_back(chunk);
    empty.chunks.push_back({"IDAT", stream.substr(0, size)});
    empty.chunks.push_back({"IEND", ""});
    EXPECT_THAT(ridgeline::error_of([&] { decode_png_values(bytes_of(empty)); }), testing::StartsWith("[png] "));
  }
}

TEST(Png, ValuesOfAStreamThatEndsBehindARowAreAnErrorWhereAPictureIsBlack) {
  std::string rows, stream(200, '\0');
  for (int y = 0; y < 6; ++y) rows += '\0' + std::string(8, static_cast<char>(y + 1));
  test::PngSample png;
  png.chunks = {{"IHDR", std::string("\0\0\0\x08\0\0\0\x06\x08\0\0\0\0", 13)}, {"IDAT", ""}, {"IEND", ""}};
  for (const std::size_t kept : {6, 5, 1}) {
    uLongf size = stream.size();
    ASSERT_EQ(::compress(reinterpret_cast<Bytef*>(stream.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
                         static_cast<uLong>(9 * kept)),
              Z_OK);
    png.chunks[1].data = stream.substr(0, size);
    EXPECT_EQ(decode_png(bytes_of(png)).row(static_cast<int>(kept) - 1)[0], kept);
    EXPECT_EQ(ridgeline::error_of([&] { decode_png_values(bytes_of(png)); }),
              kept == 6 ? "" : "[png] premature end of PNG file: rows are missing");
  }
}

TEST(Png, ATruncatedFileIsAnError) {
  const auto bytes = encode_png(detailed_image(30, 40, 3));
  for (std::size_t keep = 8; keep < bytes.size() - 40; keep += 1 + keep / 6) {
    auto cut = bytes;
    cut.resize(keep);
    EXPECT_EQ(error_of(cut).substr(0, 6), "[png] ") << keep;
  }
}

TEST(Png, AWrongChecksumIsAnError) {
  auto bytes = encode_png(detailed_image(30, 40, 3));
  bytes[20] ^= 1;  // width
  EXPECT_EQ(error_of(bytes), "[png] chunk IHDR has a wrong checksum");
}

TEST(Png, AnAbsurdHeaderIsRefused) {
  EXPECT_EQ(error_of(encode_png(detailed_image(30, 40, 3)), {1199, 10}),
            "[png] 30x40 pixels are more than the limit of 1199");
}

TEST(Png, FlippedBytesNeverCrash) {
  const auto good = encode_png(detailed_image(24, 24, 3));
  SampleRandom random(philox_key(4, "fuzz"), 0, 0);
  int errors = 0;
  for (int i = 0; i < 500; ++i) {
    auto bad = good;
    bad[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bad.size()) - 1))] =
        static_cast<std::uint8_t>(random.integer(0, 255));
    errors += !error_of(bad, {1 << 20, 10}).empty();
  }
  EXPECT_GT(errors, 300);
}

}  // namespace
}  // namespace ridgeline::image
