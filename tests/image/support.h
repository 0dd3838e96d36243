// tests/image/support.h
//
// Shared by the image tests: detailed images, an independent simple use of libjpeg, the location of the test
// data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "every_target.h"
#include "ridgeline/core/random.h"
#include "ridgeline/image/image.h"

namespace ridgeline::image::test {

// Smooth areas, edges and noise; a pure function of its arguments.
Image detailed_image(int height, int width, int channels, std::uint64_t seed = 0);

// Mirrored left to right, pixel by pixel.
Image flipped_horizontal(const ImageView& image);

// The low `count` bytes of a number, lowest first.
std::string little_endian(std::uint64_t value, int count);

std::string as_text(std::span<const std::uint8_t> bytes);
std::vector<std::uint8_t> as_bytes(const std::string& text);

// Decodes the whole file with libjpeg's simplest calls and defaults; libjpeg chooses `channels` (1, 3 or 4). Fails the
// test on a libjpeg error.
Image plain_jpeg(std::span<const std::uint8_t> bytes, bool rgb);

// Encodes with libjpeg and options that encode_jpeg() does not have.
struct PlainEncoding {
  int h = 1, v = 1;  // luma sampling factors
  bool progressive = false;
  bool one_scan_each = false;  // not interleaved
  int restart = 0;
  bool arithmetic = false;
  bool cmyk = false;
  int quality = 85;
  bool own_tables = false;  // Huffman tables optimised for the image
};
// Luma sampling factors h and v: 4:4:4, 4:2:2, 4:4:0, 4:2:0; {0, 0} means grey.
inline constexpr std::pair<int, int> kLumaSamplings[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {0, 0}};
std::vector<std::uint8_t> plain_encode(const Image& image, const PlainEncoding& encoding);

// $RIDGELINE_TEST_DATA/packA, or "" if the variable is not set.
std::string pack_a();

// A Python with a Pillow older than 13 (later versions round some pixels of a resize differently): $RIDGELINE_PYTHON,
// the checkout's .venv, python3; "" if there is none.
std::string python_with_pillow();

}  // namespace ridgeline::image::test
