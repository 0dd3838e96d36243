#include "ridgeline/image/resample/weights.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ridgeline/core/math.h"
#include "ridgeline/image/resample/passes.h"

namespace ridgeline::image {
namespace {

double box_filter(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double bilinear_filter(double x) {
  x = std::fabs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

double cubic(double x, double a) {
  x = std::fabs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

double bicubic_filter(double x) { return cubic(x, -0.5); }
double sharp_cubic(double x) { return cubic(x, -0.75); }  // PyTorch's and OpenCV's

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x = x * std::numbers::pi;
  return portable_sin(x) / x;
}

double lanczos_filter(double x) { return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }

std::int32_t to_fixed(double w) {
  constexpr double one = 1 << kWeightBits;
  return static_cast<std::int32_t>(w < 0 ? -0.5 + w * one : 0.5 + w * one);
}

// The filter is a compile-time constant: a call for every tap takes longer than the tap.
template <double (*value)(double)>
void weights_by(double filter_support, int in, float box_begin, float box_end, int out, int begin, int end,
                Resizer::Axis& axis) {
  const double scale = static_cast<double>(box_end - box_begin) / out;  // the difference in float, as Pillow
  const double filter_scale = std::max(scale, 1.0);
  const double support = filter_support * filter_scale;
  axis.taps = static_cast<int>(std::ceil(support)) * 2 + 1;
  const auto n = static_cast<std::size_t>(end - begin), taps = static_cast<std::size_t>(axis.taps);
  axis.first.resize(n);
  axis.count.resize(n);
  axis.weight.assign(n * taps, 0);
  std::vector<double> weights(taps);
  const double step = 1.0 / filter_scale;
  for (std::size_t i = 0; i < n; ++i) {
    const double center = box_begin + (begin + static_cast<int>(i) + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(center - support + 0.5));
    const int count = std::min(in, static_cast<int>(center + support + 0.5)) - first;
    double sum = 0.0;
    for (int k = 0; k < count; ++k) {
      const double w = value((k + first - center + 0.5) * step);
      weights[static_cast<std::size_t>(k)] = w;
      sum += w;
    }
    for (int k = 0; k < count; ++k) {
      double w = weights[static_cast<std::size_t>(k)];
      if (sum != 0.0) w /= sum;
      axis.weight[i * taps + static_cast<std::size_t>(k)] = to_fixed(w);
    }
    axis.first[i] = first;
    axis.count[i] = count;
  }
}

}  // namespace

void antialiased_weights(Filter filter, int in, float box_begin, float box_end, int out, int begin, int end,
                         Resizer::Axis& axis) {
  switch (filter) {
    case Filter::box: return weights_by<box_filter>(0.5, in, box_begin, box_end, out, begin, end, axis);
    case Filter::bicubic: return weights_by<bicubic_filter>(2, in, box_begin, box_end, out, begin, end, axis);
    case Filter::lanczos: return weights_by<lanczos_filter>(3, in, box_begin, box_end, out, begin, end, axis);
    default: return weights_by<bilinear_filter>(1, in, box_begin, box_end, out, begin, end, axis);
  }
}

void torch_weights(Filter filter, int in, int out, int begin, int end, Resizer::Axis& axis) {
  const bool wide = filter == Filter::torch_bicubic;
  axis.taps = wide ? 4 : 2;
  const auto n = static_cast<std::size_t>(end - begin), taps = static_cast<std::size_t>(axis.taps);
  axis.first.resize(n);
  axis.count.resize(n);
  axis.weight.assign(n * taps, 0);
  const double scale = static_cast<double>(in) / out;
  for (std::size_t i = 0; i < n; ++i) {
    const double position = scale * (begin + static_cast<int>(i) + 0.5) - 0.5;
    const int before = static_cast<int>(std::floor(position));
    const double t = position - before;
    const int unbound = wide ? before - 1 : before;
    const int low = std::clamp(unbound, 0, in - 1), high = std::clamp(unbound + axis.taps - 1, 0, in - 1);
    double weights[4] = {};
    for (int k = 0; k < axis.taps; ++k) {
      const double w = wide ? sharp_cubic(k - 1 - t) : k == 0 ? 1.0 - t : t;
      weights[std::clamp(unbound + k, low, high) - low] += w;
    }
    axis.first[i] = low;
    axis.count[i] = high - low + 1;
    for (int k = 0; k < axis.count[i]; ++k) axis.weight[i * taps + static_cast<std::size_t>(k)] = to_fixed(weights[k]);
  }
}

void nearest_positions(int in, float box_begin, float box_end, int out, int begin, int end, Resizer::Axis& axis) {
  axis.taps = 1;
  axis.first.resize(static_cast<std::size_t>(end - begin));
  axis.count.assign(axis.first.size(), 1);
  const double scale = static_cast<double>(box_end - box_begin) / out;
  double position = box_begin + scale * 0.5;
  for (int x = 0; x < end; ++x, position += scale) {
    if (x >= begin) axis.first[static_cast<std::size_t>(x - begin)] = std::clamp(static_cast<int>(position), 0, in - 1);
  }
}

void tf1_positions(int in, float box_begin, float box_end, int out, int begin, int end, Resizer::Axis& axis) {
  axis.taps = 2;
  const auto n = static_cast<std::size_t>(end - begin);
  axis.first.resize(n);
  axis.count.resize(n);
  axis.fraction.resize(n);
  const float scale = (box_end - box_begin) / static_cast<float>(out);
  for (std::size_t i = 0; i < n; ++i) {
    const float position = box_begin + static_cast<float>(begin + static_cast<int>(i)) * scale;
    const int first = std::min(static_cast<int>(position), in - 1);
    axis.first[i] = first;
    axis.count[i] = std::min(2, in - first);  // at the border the neighbour is the pixel itself
    axis.fraction[i] = position - static_cast<float>(first);
  }
}

}  // namespace ridgeline::image
