#include "ridgeline/image/resample/opencv_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ridgeline/image/geometry.h"

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

void nearest_axis(int in, double scale, int begin, int end, OpencvAxis& axis) {
  for (int i = begin; i < end; ++i) {
    axis.first[static_cast<std::size_t>(i - begin)] = std::min(static_cast<int>(std::floor(i * scale)), in - 1);
  }
}

// Positions in float as OpenCV has them. Taps beyond the border repeat its pixel: their weights are added to it, which
// integers allow; only the two rows of the linear rule, whose products are truncated one by one, keep their own.
void weighted_axis(OpencvRule rule, bool area_grid, int in, double scale, double inverse, int begin, int end,
                   OpencvAxis& axis) {
  axis.taps = rule == OpencvRule::cubic ? 4 : 2;
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
    if (rule == OpencvRule::cubic) cubic_weights(position, share);
    const auto at = static_cast<std::size_t>(i - begin);
    const int unbound = rule == OpencvRule::cubic ? first - 1 : first;
    const int low = std::clamp(unbound, 0, in - 1), high = std::clamp(unbound + axis.taps - 1, 0, in - 1);
    axis.first[at] = low;
    axis.count[at] = high - low + 1;
    std::int32_t* weight = axis.weight.data() + at * static_cast<std::size_t>(axis.taps);
    for (int k = 0; k < axis.taps; ++k) {
      const int fixed = round_half_even(static_cast<double>(share[k] * kOne));
      weight[rule == OpencvRule::linear ? k : std::clamp(unbound + k, low, high) - low] += fixed;
    }
  }
}

// computeResizeAreaTab: each source pixel's share of the cell, dropped below a thousandth of a pixel.
void area_axis(int in, double scale, int begin, int end, OpencvAxis& axis) {
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

}  // namespace

OpencvRule opencv_rule(Filter filter, Size in, Size out) {
  if (in == out) return OpencvRule::copy;
  const Scale x(in.width, out.width), y(in.height, out.height);
  const bool whole = x.is_whole() && y.is_whole();
  switch (filter) {
    case Filter::opencv_nearest: return OpencvRule::nearest;
    case Filter::opencv_cubic: return OpencvRule::cubic;
    case Filter::opencv_linear:
      return whole && x.whole() == 2 && y.whole() == 2 ? OpencvRule::mean : OpencvRule::linear;
    default: break;
  }
  if (!(x.scale >= 1 && y.scale >= 1)) return OpencvRule::linear;
  return whole ? OpencvRule::mean : OpencvRule::area;
}

OpencvAxis opencv_axis(OpencvRule rule, bool area_grid, int in, int out, int begin, int end) {
  OpencvAxis axis;
  const auto n = static_cast<std::size_t>(end - begin);
  axis.first.resize(n);
  axis.count.assign(n, 1);
  const Scale s(in, out);
  switch (rule) {
    case OpencvRule::copy:
    case OpencvRule::mean:
      axis.taps = rule == OpencvRule::copy ? 1 : s.whole();
      for (std::size_t i = 0; i < n; ++i) axis.first[i] = (begin + static_cast<int>(i)) * axis.taps;
      axis.count.assign(n, axis.taps);
      break;
    case OpencvRule::nearest: nearest_axis(in, s.scale, begin, end, axis); break;
    case OpencvRule::linear:
    case OpencvRule::cubic: weighted_axis(rule, area_grid, in, s.scale, s.inverse, begin, end, axis); break;
    case OpencvRule::area: area_axis(in, s.scale, begin, end, axis); break;
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

}  // namespace ridgeline::image
