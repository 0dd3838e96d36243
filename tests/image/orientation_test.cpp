// Exif orientation: from every place where Pillow reads it, and applied as in its exif_transpose.
#include <gtest/gtest.h>
#include <zlib.h>

#include <optional>

#include "pillow_files.h"
#include "ridgeline/core/bytes.h"
#include "ridgeline/core/random.h"
#include "ridgeline/image/boxes.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/orientation.h"
#include "ridgeline/image/pixels.h"
#include "ridgeline/image/png/png.h"
#include "support.h"
#include "webp_samples.h"

namespace ridgeline::image {
namespace {

std::string in_order(std::uint32_t value, int bytes, bool big_endian) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * (big_endian ? bytes - 1 - i : i)));
  return text;
}

// A directory with a maker name and the orientation.
std::string tiff(int orientation, bool big_endian) {
  const auto n = [&](std::uint32_t value, int bytes) { return in_order(value, bytes, big_endian); };
  const std::string value = n(static_cast<std::uint32_t>(orientation), 2) + std::string(2, '\0');
  return (big_endian ? std::string("MM\0*", 4) : std::string("II*\0", 4)) + n(8, 4) + n(2, 2) +  //
         n(0x010f, 2) + n(2, 2) + n(4, 4) + std::string("abc\0", 4) +                            //
         n(0x0112, 2) + n(3, 2) + n(1, 4) + value + n(0, 4);
}

std::string png_chunk(const std::string& name, const std::string& data) {
  const std::string checked = name + data;
  const auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  return in_order(static_cast<std::uint32_t>(data.size()), 4, true) + checked +
         in_order(static_cast<std::uint32_t>(sum), 4, true);
}

std::string deflated_text(const std::string& text) {
  std::string out(::compressBound(text.size()), '\0');
  uLongf size = out.size();
  ::compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size());
  out.resize(size);
  return out;
}

std::string raw_profile(const std::string& exif) {
  std::string text = "\nexif\n" + std::to_string(exif.size()) + "\n";
  constexpr const char* kDigits = "0123456789abcdef";
  for (const unsigned char c : exif) text += {kDigits[c >> 4], kDigits[c & 15]};
  return text + "\n";
}

std::string xmp(int orientation, bool attribute) {
  const std::string value = std::to_string(orientation);
  return attribute ? "<rdf tiff:Orientation=\"" + value + "\"/>" : "<tiff:Orientation>" + value + "</tiff:Orientation>";
}

// Every place that is read, with one orientation.
std::vector<std::string> files_with(int orientation) {
  const Image image = test::detailed_image(21, 34, 3, static_cast<std::uint64_t>(orientation));
  std::vector<std::string> files;
  const std::string mark("Exif\0\0", 6);
  for (const Subsampling subsampling : {Subsampling::s444, Subsampling::s420}) {
    const std::string jpeg = as_text(encode_jpeg(image, 80, subsampling));
    const std::string exif = mark + tiff(orientation, subsampling == Subsampling::s444);
    const std::string segment = "\xff\xe1" + in_order(static_cast<std::uint32_t>(exif.size() + 2), 2, true) + exif;
    files.push_back(jpeg.substr(0, 2) + segment + jpeg.substr(2));
  }
  const std::string png = as_text(encode_png(image)), little = tiff(orientation, false);
  const std::size_t behind_header = 33, before_end = png.size() - 12;
  const auto with = [&](std::size_t at, const std::string& chunk) {
    files.push_back(png.substr(0, at) + chunk + png.substr(at));
  };
  const auto key = [](const char* text) { return std::string(text) + '\0'; };
  with(behind_header, png_chunk("eXIf", little));
  with(before_end, png_chunk("eXIf", tiff(orientation, true)));
  with(behind_header, png_chunk("tEXt", key("Raw profile type exif") + raw_profile(mark + little)));
  with(behind_header,
       png_chunk("zTXt", key("Raw profile type exif") + '\0' + deflated_text(raw_profile(mark + little))));
  with(behind_header,
       png_chunk("iTXt", key("XML:com.adobe.xmp") + std::string("\0\0\0\0", 4) + xmp(orientation, true)));
  with(behind_header, png_chunk("iTXt", key("XML:com.adobe.xmp") + std::string("\1\0\0\0", 4) +
                                            deflated_text(xmp(orientation, false))));
  // If Exif has no orientation, that of XMP is used.
  const std::string empty =
      std::string("II*\0", 4) + in_order(8, 4, false) + in_order(0, 2, false) + in_order(0, 4, false);
  with(behind_header,
       png_chunk("eXIf", empty) +
           png_chunk("iTXt", key("XML:com.adobe.xmp") + std::string("\0\0\0\0", 4) + xmp(orientation, true)));
  files.push_back(test::webp_with_exif(image, little));
  files.push_back(test::webp_with_exif(image, mark + tiff(orientation, true)));
  return files;
}

TEST(Orientation, PicturesAreTurnedAsByPillowsExifTranspose) {
  const std::string python = test::python_with_pillow();
  std::vector<std::string> files;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (std::string& file : files_with(orientation)) {
      EXPECT_EQ(exif_orientation(as_bytes(file)), orientation);
      files.push_back(std::move(file));
    }
  }
  if (python.empty()) GTEST_SKIP() << "no Python with a Pillow older than 13 (set RIDGELINE_PYTHON to one)";
  const auto pillow = test::read_by_pillow(python, files, test::PillowMode::upright);
  for (std::size_t i = 0; i < files.size(); ++i) {
    ASSERT_TRUE(pillow[i].has_value()) << i;
    EXPECT_EQ(decode(as_bytes(files[i]), ExifOrientation::apply), *pillow[i]) << i;
  }
}

TEST(Orientation, RegionsAreThoseOfTheTurnedPicture) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const std::string& file : files_with(orientation)) {
      const Image whole = decode(as_bytes(file), ExifOrientation::apply);
      EXPECT_EQ(size_of_picture(as_bytes(file), ExifOrientation::apply), (Size{whole.height(), whole.width()}));
      EXPECT_EQ(size_of_picture(as_bytes(file), ExifOrientation::ignore), (Size{21, 34}));
      for (const Box box : {Box{0, 0, 1, 1}, Box{3, 5, 11, 9}, Box{0, 0, whole.height(), whole.width()}})
        EXPECT_EQ(decode_region(as_bytes(file), box, ExifOrientation::apply), copy(crop(whole, box))) << orientation;
    }
  }
}

TEST(Orientation, BoxesGoWithTheirPixels) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Image image(20, 40, 3);
    const Box box{2, 8, 6, 5};
    for (int y = box.top; y < box.top + box.height; ++y)
      std::fill_n(image.row(y) + std::ptrdiff_t{3} * box.left, 3 * box.width, std::uint8_t{255});
    Image turned;
    turn_upright(image, orientation, turned);
    ObjectBox object{2 / 20.f, 8 / 40.f, 8 / 20.f, 13 / 40.f};
    turn_boxes_upright({&object, 1}, orientation);
    for (int y = 0; y < turned.height(); ++y) {
      for (int x = 0; x < turned.width(); ++x) {
        const float row = (static_cast<float>(y) + 0.5f) / static_cast<float>(turned.height());
        const float column = (static_cast<float>(x) + 0.5f) / static_cast<float>(turned.width());
        const bool within = row > object.ymin && row < object.ymax && column > object.xmin && column < object.xmax;
        ASSERT_EQ(turned.row(y)[3 * x] == 255, within) << orientation;
      }
    }
  }
}

TEST(Orientation, WhatIsNoneIsUpright) {
  const std::string png = as_text(encode_png(test::detailed_image(5, 6, 3)));
  EXPECT_EQ(exif_orientation(as_bytes(png)), 1);
  for (const int odd : {0, 9, 255}) EXPECT_EQ(exif_orientation(as_bytes(files_with(odd)[0])), 1) << odd;
  SampleRandom random(philox_key(2, "exif"), 0, 0);
  for (const std::string& file : files_with(6)) {  // truncated or changed anywhere
    for (int i = 0; i < 300; ++i) {
      std::string bytes = file;
      bytes[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bytes.size()) - 1))] =
          static_cast<char>(random.bits());
      if (i % 2 == 0)
        bytes.resize(static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(bytes.size()))));
      const int found = exif_orientation(as_bytes(bytes));
      EXPECT_TRUE(found >= 1 && found <= 8);
    }
  }
}

}  // namespace
}  // namespace ridgeline::image
