// ridgeline/image/augment/warp_sample.h
//
// One pixel of a warp: Pillow's nearest, bilinear and bicubic filters (Geometry.c). Each leaves `out` alone when the
// position lies outside the image. Private to this folder.
#pragma once

#include <algorithm>
#include <cmath>

#include "ridgeline/image/image.h"

namespace ridgeline::image {

// The integer part of a coordinate; -1 outside 0..n-1 and for NaN.
inline int whole_coordinate(double v, int n) { return v >= 0.0 && v < n ? static_cast<int>(v) : -1; }

inline bool inside(const ImageView& in, double x, double y) {
  return x >= 0.0 && x < in.width && y >= 0.0 && y < in.height;
}

template <int Channels>
void sample_nearest(const ImageView& in, double x, double y, std::uint8_t* out) {
  if (!inside(in, x, y)) return;
  const std::uint8_t* pixel = in.pixel(static_cast<int>(y), static_cast<int>(x));
  for (int c = 0; c < Channels; ++c) out[c] = pixel[c];
}

template <int Channels>
void sample_bilinear(const ImageView& in, double x_in, double y_in, std::uint8_t* out) {
  if (!inside(in, x_in, y_in)) return;
  x_in -= 0.5, y_in -= 0.5;
  const int x = static_cast<int>(std::floor(x_in)), y = static_cast<int>(std::floor(y_in));
  const double dx = x_in - x, dy = y_in - y;
  const int left = Channels * std::clamp(x, 0, in.width - 1), right = Channels * std::clamp(x + 1, 0, in.width - 1);
  const std::uint8_t* above = in.row(std::clamp(y, 0, in.height - 1));
  const std::uint8_t* below = y + 1 < in.height ? in.row(y + 1) : nullptr;
  for (int c = 0; c < Channels; ++c) {
    const double v1 = above[left + c] + (above[right + c] - above[left + c]) * dx;
    const double v2 = below ? below[left + c] + (below[right + c] - below[left + c]) * dx : v1;
    out[c] = static_cast<std::uint8_t>(v1 + (v2 - v1) * dy);
  }
}

inline double cubic_between(double v1, double v2, double v3, double v4, double d) {
  const double p1 = v2, p2 = -v1 + v3, p3 = 2 * (v1 - v2) + v3 - v4, p4 = -v1 + v2 - v3 + v4;
  return p1 + d * (p2 + d * (p3 + d * p4));
}

template <int Channels>
void sample_bicubic(const ImageView& in, double x_in, double y_in, std::uint8_t* out) {
  if (!inside(in, x_in, y_in)) return;
  x_in -= 0.5, y_in -= 0.5;
  const int x = static_cast<int>(std::floor(x_in)), y = static_cast<int>(std::floor(y_in));
  const double dx = x_in - x, dy = y_in - y;
  int column[4];
  for (int k = 0; k < 4; ++k) column[k] = Channels * std::clamp(x - 1 + k, 0, in.width - 1);
  for (int c = 0; c < Channels; ++c) {
    double v[4];
    for (int k = 0; k < 4; ++k) {
      const int row = y - 1 + k;
      if (k > 0 && (row < 0 || row >= in.height)) {  // beyond the border a row repeats the one before it
        v[k] = v[k - 1];
        continue;
      }
      const std::uint8_t* p = in.row(std::clamp(row, 0, in.height - 1)) + c;
      v[k] = cubic_between(p[column[0]], p[column[1]], p[column[2]], p[column[3]], dx);
    }
    const double value = cubic_between(v[0], v[1], v[2], v[3], dy);
    out[c] = static_cast<std::uint8_t>(value <= 0.0 ? 0.0 : value >= 255.0 ? 255.0 : value);
  }
}

}  // namespace ridgeline::image
