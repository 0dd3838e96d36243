#include "ridgeline/image/resample_opencv.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ridgeline/image/geometry.h"
#include "ridgeline/image/resample_opencv_passes.h"

namespace ridgeline::image {
namespace {

constexpr int kOne = 1 << 11;  // OpenCV: INTER_RESIZE_COEF_SCALE

// OpenCV computes the quotient of the sizes one way and inverts it; both roundings count.
struct Scale {
  Scale(int in, int out) : inverse(static_cast<double>(out) / in), scale(1.0 / inverse) {}
  double inverse, scale;
  int whole() const { return round_half_even(scale); }
  bool is_whole() const { return std::fabs(scale - whole()) < std::numeric_limits<double>::epsilon(); }
};

// interpolateCubic, in float.
void cubic_weights(float x, float* w) {
  constexpr float a = -0.75f;
  w[0] = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a;
  w[1] = ((a + 2) * x - (a + 3)) * x * x + 1;
  w[2] = ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1;
  w[3] = 1.0f - w[0] - w[1] - w[2];
}

std::uint8_t clipped(int v) { return static_cast<std::uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v); }

}  // namespace

OpencvResampler::Law OpencvResampler::law_of(Filter filter, Size in, Size out) {
  if (in == out) return Law::copy;
  const Scale x(in.width, out.width), y(in.height, out.height);
  const bool whole = x.is_whole() && y.is_whole();
  switch (filter) {
    case Filter::opencv_nearest: return Law::nearest;
    case Filter::opencv_cubic: return Law::cubic;
    case Filter::opencv_linear: return whole && x.whole() == 2 && y.whole() == 2 ? Law::mean : Law::linear;
    default: break;
  }
  if (!(x.scale >= 1 && y.scale >= 1)) return Law::linear;
  return whole ? Law::mean : Law::area;
}

OpencvResampler::Axis OpencvResampler::axis_of(Law law, bool area_grid, int in, int out, int begin, int end) {
  Axis axis;
  const auto n = static_cast<std::size_t>(end - begin);
  axis.first.resize(n);
  axis.count.assign(n, 1);
  const Scale s(in, out);
  switch (law) {
    case Law::copy:
    case Law::mean:
      axis.taps = law == Law::copy ? 1 : s.whole();
      for (std::size_t i = 0; i < n; ++i) axis.first[i] = (begin + static_cast<int>(i)) * axis.taps;
      axis.count.assign(n, axis.taps);
      break;
    case Law::nearest: nearest_axis(in, s.scale, begin, end, axis); break;
    case Law::linear:
    case Law::cubic: weighted_axis(law, area_grid, in, s.scale, s.inverse, begin, end, axis); break;
    case Law::area: area_axis(in, s.scale, begin, end, axis); break;
  }
  int low = in, high = 0;
  for (std::size_t i = 0; i < n; ++i) {
    low = std::min(low, axis.first[i]);
    high = std::max(high, axis.first[i] + axis.count[i]);
  }
  for (int& first : axis.first) first -= low;
  axis.begin = low;
  axis.size = high - low;
  return axis;
}

void OpencvResampler::nearest_axis(int in, double scale, int begin, int end, Axis& axis) {
  for (int i = begin; i < end; ++i) {
    axis.first[static_cast<std::size_t>(i - begin)] = std::min(static_cast<int>(std::floor(i * scale)), in - 1);
  }
}

// Positions in float as OpenCV has them. Taps beyond the border repeat its pixel: their weights are added to it, which
// whole numbers allow; only the two rows of the linear law, whose products are cut one by one, keep their own.
void OpencvResampler::weighted_axis(Law law, bool area_grid, int in, double scale, double inverse, int begin, int end,
                                    Axis& axis) {
  axis.taps = law == Law::cubic ? 4 : 2;
  axis.weight.assign(axis.first.size() * static_cast<std::size_t>(axis.taps), 0);
  for (int i = begin; i < end; ++i) {
    float position;
    int first;
    if (area_grid) {
      first = static_cast<int>(std::floor(i * scale));
      position = static_cast<float>((i + 1) - (first + 1) * inverse);
      position = position <= 0 ? 0.0f : position - std::floor(position);
    } else {
      position = static_cast<float>((i + 0.5) * scale - 0.5);
      first = static_cast<int>(std::floor(position));
      position -= static_cast<float>(first);
    }
    float share[4] = {1.0f - position, position, 0, 0};
    if (law == Law::cubic) cubic_weights(position, share);
    const auto at = static_cast<std::size_t>(i - begin);
    const int unbound = law == Law::cubic ? first - 1 : first;
    const int low = std::clamp(unbound, 0, in - 1), high = std::clamp(unbound + axis.taps - 1, 0, in - 1);
    axis.first[at] = low;
    axis.count[at] = high - low + 1;
    std::int32_t* weight = axis.weight.data() + at * static_cast<std::size_t>(axis.taps);
    for (int k = 0; k < axis.taps; ++k) {
      const int fixed = round_half_even(static_cast<double>(share[k] * kOne));
      weight[law == Law::linear ? k : std::clamp(unbound + k, low, high) - low] += fixed;
    }
  }
}

// computeResizeAreaTab: each source pixel's share of the cell, dropped below a thousandth of a pixel.
void OpencvResampler::area_axis(int in, double scale, int begin, int end, Axis& axis) {
  axis.taps = static_cast<int>(std::ceil(scale)) + 2;
  axis.share.assign(axis.first.size() * static_cast<std::size_t>(axis.taps), 0.0f);
  for (int i = begin; i < end; ++i) {
    const auto at = static_cast<std::size_t>(i - begin);
    const double low = i * scale, high = low + scale, cell = std::min(scale, in - low);
    const int last = std::min(static_cast<int>(std::floor(high)), in - 1);
    const int first = std::min(static_cast<int>(std::ceil(low)), last);
    float* share = axis.share.data() + at * static_cast<std::size_t>(axis.taps);
    int n = 0;
    axis.first[at] = first;
    if (first - low > 1e-3) {
      axis.first[at] = first - 1;
      share[n++] = static_cast<float>((first - low) / cell);
    }
    for (int x = first; x < last; ++x) share[n++] = static_cast<float>(1.0 / cell);
    if (high - last > 1e-3) share[n++] = static_cast<float>(std::min(std::min(high - last, 1.0), cell) / cell);
    axis.count[at] = n;
  }
}

Box OpencvResampler::prepare(Filter filter, Size in, Size out, Box window) {
  law_ = law_of(filter, in, out);
  const bool area_grid = filter == Filter::opencv_area;
  across_ = axis_of(law_, area_grid, in.width, out.width, window.left, window.left + window.width);
  down_ = axis_of(law_, area_grid, in.height, out.height, window.top, window.top + window.height);
  return {down_.begin, across_.begin, down_.size, across_.size};
}

void OpencvResampler::run(const ImageView& part, std::uint8_t* out, std::ptrdiff_t out_stride) {
  std::fill(std::begin(held_), std::end(held_), -1);
  switch (law_) {
    case Law::copy:
    case Law::nearest: return run_nearest(part, out, out_stride);
    case Law::linear:
    case Law::cubic: return run_weighted(part, out, out_stride);
    case Law::mean: return run_mean(part, out, out_stride);
    case Law::area: return run_area(part, out, out_stride);
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
    law_ == Law::linear ? opencv_linear_down(rows, w, n, out) : opencv_cubic_down(rows, w, n, out);
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
        // OpenCV halves by whole numbers and rounds up, all else it multiplies in float and rounds to even.
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
