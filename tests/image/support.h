// tests/image/support.h
//
// What the image tests share: pictures with detail, an independent and plain use of libjpeg, SHA-256, the test data's
// place.
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

// The low `count` bytes of a number, the lowest first.
std::string little_endian(std::uint64_t value, int count);

std::string as_text(std::span<const std::uint8_t> bytes);
std::vector<std::uint8_t> as_bytes(const std::string& text);

// The whole file through libjpeg's simplest calls with their defaults; `channels` is libjpeg's choice (1, 3 or 4).
// Fails the test on a libjpeg error.
Image plain_jpeg(std::span<const std::uint8_t> bytes, bool rgb);

// Encodes through libjpeg with free choice of what encode_jpeg() does not offer.
struct PlainEncoding {
  int h = 1, v = 1;  // luma sampling factors
  bool progressive = false;
  bool one_scan_each = false;  // not interleaved
  int restart = 0;
  bool arithmetic = false;
  bool cmyk = false;
  int quality = 85;
  bool own_tables = false;  // Huffman tables made for the image
};
// Luma sampling factors h and v: 4:4:4, 4:2:2, 4:4:0, 4:2:0; {0, 0} stands for grey.
inline constexpr std::pair<int, int> kLumaSamplings[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {0, 0}};
std::vector<std::uint8_t> plain_encode(const Image& image, const PlainEncoding& encoding);

std::string sha256_hex(std::string_view bytes);

// $RIDGELINE_TEST_DATA/packA, or "" when the variable is not set.
std::string pack_a();

// A Python that can import a Pillow older than 13 (whose faster resize rounds some pixels differently):
// $RIDGELINE_PYTHON, the checkout's .venv, python3; "" if there is none.
std::string python_with_pillow();

}  // namespace ridgeline::image::test
