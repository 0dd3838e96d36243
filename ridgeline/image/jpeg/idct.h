// ridgeline/image/jpeg/idct.h
//
// Dequantisation and the inverse DCT of libjpeg's ISLOW (after Loeffler, Ligtenberg and Moschytz, "Practical fast 1-D
// DCT algorithms with 11 multiplications", 1989): constants of 13 bits, columns first, 2 bits more between the passes,
// halves rounded up. Sums of two coefficients are taken in 16 bits and results saturate there, as in libjpeg-turbo's
// vector code, so that even damaged images get its bits. Private to this folder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ridgeline::image {

// One row of `count` blocks: 64 coefficients each in zigzag order, contiguous; last[i] is the place of the last
// coefficient of block i that can be nonzero. Block i becomes the pixels out[y * stride + 8 * i + x]. Up to 3 more
// blocks are read, and their pixels written.
struct IdctRow {
  const std::int16_t* coefficients = nullptr;
  const std::uint8_t* last = nullptr;
  const std::uint16_t* quant = nullptr;  // zigzag order
  int count = 0;
  std::uint8_t* out = nullptr;
  std::ptrdiff_t stride = 0;
};

// False when a block's first row is beyond +-8191 after dequantisation: then libjpeg-turbo's result depends on its
// shortcuts; no encoder makes such values.
bool inverse_dct(const IdctRow& row);
// The plain code, which ignores `last`, and reads and writes nothing beyond the row; the vector code must give the
// same.
bool inverse_dct_plain(const IdctRow& row);

// Place in an 8x8 block (8 * row + column) of each zigzag position.
inline constexpr std::array<std::uint8_t, 64> kZigzag = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

}  // namespace ridgeline::image
