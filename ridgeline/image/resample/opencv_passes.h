// ridgeline/image/resample/opencv_passes.h
//
// The inner loops of OpenCV's resizing rules: across, and then down over rows that were resized across, the latter
// vectorised per instruction set. Private to this folder. Each gives the same as the plain function next to it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ridgeline/image/image.h"

namespace ridgeline::image {

// VResizeLinear for bytes: 16 bits of each product of an 11-bit weight and a value scaled by 2^11.
inline std::uint8_t opencv_linear_value(const std::int32_t* weight, std::int32_t above, std::int32_t below) {
  const std::int32_t sum = ((weight[0] * (above >> 4)) >> 16) + ((weight[1] * (below >> 4)) >> 16);
  return static_cast<std::uint8_t>((sum + 2) >> 2);
}

// sum / 2^22, rounded half to even, clipped: OpenCV's vector code does so in float, and rounds the last few values of a
// row half up in integers. This is exact.
inline std::uint8_t opencv_cubic_value(std::int32_t sum) {
  std::int32_t value = (sum + (1 << 21)) >> 22;
  if ((sum & ((1 << 22) - 1)) == 1 << 21) value &= ~1;
  return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

// out[i] for i < n from two or four rows of n values.
void opencv_linear_down(const std::int32_t* const* rows, const std::int32_t* weight, std::size_t n, std::uint8_t* out);
void opencv_cubic_down(const std::int32_t* const* rows, const std::int32_t* weight, std::size_t n, std::uint8_t* out);
// sum[i] += share * row[i], the product rounded.
void opencv_area_down(const float* row, float share, std::size_t n, float* sum);

// A source row across: position x sums `taps` (2 or 4) weights over the pixels from first[x] on; if the border leaves
// fewer pixels (count[x]), the last one is repeated.
struct OpencvAcross {
  const int* first = nullptr;
  const int* count = nullptr;
  const std::int32_t* weight = nullptr;
  std::size_t width = 0;
  int taps = 2;
  int channels = 3;
};
void opencv_weighted_across(const OpencvAcross& job, const std::uint8_t* in, std::int32_t* out);

}  // namespace ridgeline::image
