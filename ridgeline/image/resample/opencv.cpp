#include "ridgeline/image/resample/opencv.h"

#include <algorithm>
#include <cstring>

#include "ridgeline/image/geometry.h"
#include "ridgeline/image/resample/opencv_passes.h"

namespace ridgeline::image {
namespace {

std::uint8_t clipped(int v) { return static_cast<std::uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v); }

}  // namespace

Box OpencvResampler::prepare(Filter filter, Size in, Size out, Box window) {
  rule_ = opencv_rule(filter, in, out);
  const bool area_grid = filter == Filter::opencv_area;
  across_ = opencv_axis(rule_, area_grid, in.width, out.width, window.left, window.left + window.width);
  down_ = opencv_axis(rule_, area_grid, in.height, out.height, window.top, window.top + window.height);
  return {down_.begin, across_.begin, down_.size, across_.size};
}

void OpencvResampler::run(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) {
  std::fill(std::begin(held_), std::end(held_), -1);
  switch (rule_) {
    case OpencvRule::copy:
    case OpencvRule::nearest: return run_nearest(part, out, out_stride);
    case OpencvRule::linear:
    case OpencvRule::cubic: return run_weighted(part, out, out_stride);
    case OpencvRule::mean: return run_mean(part, out, out_stride);
    case OpencvRule::area: return run_area(part, out, out_stride);
  }
}

void OpencvResampler::run_nearest(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) const {
  for (const int row : down_.first) {
    std::uint8_t* to = out;
    for (const int column : across_.first) {
      std::memcpy(to, part.pixel(row, column), static_cast<std::size_t>(part.channels));
      to += part.channels;
    }
    out += out_stride;
  }
}

// A source row resized across, scaled by 2^11; the last four are kept.
const std::int32_t* OpencvResampler::weighted_row(const ImageView& part, int row) {
  const std::size_t n = across_.first.size() * static_cast<std::size_t>(part.channels);
  weighted_rows_.resize(4 * n);
  std::int32_t* result = weighted_rows_.data() + static_cast<std::size_t>(row % 4) * n;
  if (held_[row % 4] == row) return result;
  held_[row % 4] = row;
  opencv_weighted_across({across_.first.data(), across_.count.data(), across_.weight.data(), across_.first.size(),
                          across_.taps, part.channels},
                         part.row(row), result);
  return result;
}

void OpencvResampler::run_weighted(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) {
  const std::size_t n = across_.first.size() * static_cast<std::size_t>(part.channels);
  for (std::size_t y = 0; y < down_.first.size(); ++y, out += out_stride) {
    const std::int32_t* w = down_.weight.data() + y * static_cast<std::size_t>(down_.taps);
    const std::int32_t* rows[4];
    for (int k = 0; k < down_.taps; ++k) {
      rows[k] = weighted_row(part, down_.first[y] + std::min(k, down_.count[y] - 1));
    }
    rule_ == OpencvRule::linear ? opencv_linear_down(rows, w, n, out) : opencv_cubic_down(rows, w, n, out);
  }
}

void OpencvResampler::run_mean(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) const {
  const int rows = down_.taps, columns = across_.taps;
  const float share = 1.0f / static_cast<float>(rows * columns);
  for (const int top : down_.first) {
    std::uint8_t* to = out;
    for (const int left : across_.first) {
      for (int c = 0; c < part.channels; ++c) {
        std::int64_t sum = 0;
        for (int y = 0; y < rows; ++y) {
          const std::uint8_t* p = part.pixel(top + y, left) + c;
          for (int x = 0; x < columns; ++x) sum += p[x * part.channels];
        }
        // OpenCV halves in integers and rounds up; everything else it multiplies in float and rounds to even.
        *to++ = rows == 2 && columns == 2
                    ? static_cast<std::uint8_t>((sum + 2) >> 2)
                    : clipped(round_half_even(static_cast<double>(static_cast<float>(sum) * share)));
      }
    }
    out += out_stride;
  }
}

const float* OpencvResampler::area_row(const ImageView& part, int row) {
  if (held_[0] == row) return area_row_.data();
  held_[0] = row;
  area_row_.resize(across_.first.size() * static_cast<std::size_t>(part.channels));
  float* to = area_row_.data();
  const float* share = across_.share.data();
  for (std::size_t x = 0; x < across_.first.size(); ++x, share += across_.taps) {
    const std::uint8_t* p = part.pixel(row, across_.first[x]);
    for (int c = 0; c < part.channels; ++c) {
      float sum = 0;
      for (int k = 0; k < across_.count[x]; ++k) sum += static_cast<float>(p[k * part.channels + c]) * share[k];
      *to++ = sum;
    }
  }
  return area_row_.data();
}

void OpencvResampler::run_area(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) {
  const std::size_t n = across_.first.size() * static_cast<std::size_t>(part.channels);
  for (std::size_t y = 0; y < down_.first.size(); ++y, out += out_stride) {
    sum_.assign(n, 0.0f);
    for (int k = 0; k < down_.count[y]; ++k) {
      const float* row = area_row(part, down_.first[y] + k);
      const float share = down_.share[y * static_cast<std::size_t>(down_.taps) + static_cast<std::size_t>(k)];
      opencv_area_down(row, share, n, sum_.data());
    }
    for (std::size_t i = 0; i < n; ++i) out[i] = clipped(round_half_even(static_cast<double>(sum_[i])));
  }
}

}  // namespace ridgeline::image
