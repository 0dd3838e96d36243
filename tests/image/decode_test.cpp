#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/png/png.h"
#include "support.h"

namespace ridgeline::image {
namespace {

std::string decode_error(const std::string& content) {
  try {
    decode(test::as_bytes(content));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Decode, GoesByContent) {
  const Image image = test::detailed_image(40, 30, 3);
  EXPECT_EQ(decode(encode_png(image)), image);
  EXPECT_EQ(decode(encode_jpeg(image, 80)), test::plain_jpeg(encode_jpeg(image, 80), true));
  const Box box{3, 4, 20, 11};
  EXPECT_EQ(decode_region(encode_png(image), box), copy(crop(image, box)));
  EXPECT_EQ(decode_region(encode_jpeg(image, 80), box), copy(crop(decode(encode_jpeg(image, 80)), box)));
  EXPECT_THROW(decode_region(encode_png(image), {30, 0, 11, 5}), Error);
}

TEST(Decode, OtherFormatsAreNamed) {
  EXPECT_EQ(decode_error("GIF89a..."), "[decode] not a JPEG, PNG, WebP or BMP: GIF");
  EXPECT_EQ(decode_error("P5\n640 423\n255\n"), "[decode] not a JPEG, PNG, WebP or BMP: PNM (PGM, PPM or PBM)");
  EXPECT_EQ(decode_error(std::string("II*\0", 4)), "[decode] not a JPEG, PNG, WebP or BMP: TIFF");
  for (const auto& [brand, name] : {std::pair("heic", "HEIC"), {"mif1", "HEIC"}, {"avif", "AVIF"}}) {
    const std::string media = std::string(
                                  "\0\0\0\x18"
                                  "ftyp",
                                  8) +
                              brand;
    EXPECT_EQ(decode_error(media), std::string("[decode] not a JPEG, PNG, WebP or BMP: ") + name);
  }
  EXPECT_EQ(decode_error(std::string("\0\0\0\x0cjP  \r\n", 10)), "[decode] not a JPEG, PNG, WebP or BMP: JPEG 2000");
  EXPECT_EQ(decode_error(""), "[decode] not a JPEG, PNG, WebP or BMP: empty file");
  EXPECT_EQ(decode_error("hello, world"), "[decode] not a JPEG, PNG, WebP or BMP: unknown content");
}

TEST(Decode, AGitLfsPointerIsCalledOne) {
  EXPECT_EQ(decode_error("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"),
            "[decode] is a Git LFS pointer, not the picture itself: run git lfs pull");
}

TEST(Sniff, ReadsSizesWithoutDecoding) {
  const Image image = test::detailed_image(40, 30, 3);
  test::PlainEncoding progressive;
  progressive.progressive = true;
  for (const auto& bytes : {encode_jpeg(image, 80), test::plain_encode(image, progressive), encode_png(image)}) {
    const Header header = read_header(bytes);
    EXPECT_EQ(header.size(), (Size{40, 30}));
    EXPECT_EQ(header.components, 3);
  }
  EXPECT_EQ(read_header(encode_jpeg(test::detailed_image(5, 6, 1), 80)).components, 1);
  auto cut = encode_jpeg(image, 80);
  cut.resize(60);
  EXPECT_THROW(read_header(cut), Error);
  EXPECT_THROW(read_header(test::as_bytes("GIF89a")), Error);
}

}  // namespace
}  // namespace ridgeline::image
