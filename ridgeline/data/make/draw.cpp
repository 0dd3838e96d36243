#include "ridgeline/data/make/draw.h"

#include <algorithm>
#include <cmath>

namespace ridgeline::data {
namespace {

constexpr int kLinesPerPixel = 4;

struct Crossing {
  double x;
  int direction;
};

// Distance from an integer, 0 to 1 and back, as a wave from -1 to 1 with steep flanks.
float wave(float u) {
  const float triangle = std::fabs(u - std::floor(u) - 0.5f) * 4.0f - 1.0f;
  return std::clamp(triangle * 3.0f, -1.0f, 1.0f);
}

float smooth(float t) { return t * t * (3.0f - 2.0f * t); }

}  // namespace

void Mask::add_span(float* row, double begin, double end) {
  constexpr float weight = 1.0f / kLinesPerPixel;
  begin = std::clamp(begin, 0.0, static_cast<double>(width_));
  end = std::clamp(end, 0.0, static_cast<double>(width_));
  if (end <= begin) return;
  const int first = static_cast<int>(begin), last = static_cast<int>(end);
  if (first == last) {
    row[first] += static_cast<float>(end - begin) * weight;
    return;
  }
  row[first] += static_cast<float>(first + 1 - begin) * weight;
  for (int x = first + 1; x < last; ++x) row[x] += weight;
  if (last < width_) row[last] += static_cast<float>(end - last) * weight;
}

void Mask::fill(const Outline& outline) {
  double top = height_, bottom = 0, left = width_, right = 0;
  for (const auto& contour : outline) {
    for (const Point& p : contour) {
      top = std::min(top, p.y), bottom = std::max(bottom, p.y);
      left = std::min(left, p.x), right = std::max(right, p.x);
    }
  }
  const int first_row = std::clamp(static_cast<int>(std::floor(top)), 0, height_);
  const int last_row = std::clamp(static_cast<int>(std::floor(bottom)) + 1, 0, height_);
  const int first_column = std::clamp(static_cast<int>(std::floor(left)), 0, width_);
  const int last_column = std::clamp(static_cast<int>(std::floor(right)) + 1, 0, width_);
  extent_ = {first_row, first_column, last_row - first_row, last_column - first_column};

  std::vector<Crossing> crossings;
  for (int line = first_row * kLinesPerPixel; line < last_row * kLinesPerPixel; ++line) {
    const double y = (line + 0.5) / kLinesPerPixel;
    crossings.clear();
    for (const auto& contour : outline) {
      for (std::size_t i = 0; i < contour.size(); ++i) {
        const Point a = contour[i], b = contour[i + 1 == contour.size() ? 0 : i + 1];
        if ((a.y <= y) == (b.y <= y)) continue;
        crossings.push_back({a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x), a.y < b.y ? 1 : -1});
      }
    }
    std::sort(crossings.begin(), crossings.end(), [](const Crossing& a, const Crossing& b) { return a.x < b.x; });
    int winding = 0;
    for (std::size_t i = 0; i + 1 < crossings.size(); ++i) {
      winding += crossings[i].direction;
      if (winding != 0) add_span(row(line / kLinesPerPixel), crossings[i].x, crossings[i + 1].x);
    }
  }
}

void Mask::blur(int radius) {
  if (radius < 1) return;
  const float scale = 1.0f / static_cast<float>(2 * radius + 1);
  std::vector<float> line(static_cast<std::size_t>(std::max(height_, width_)));
  for (int y = 0; y < height_; ++y) {
    float* values = row(y);
    std::copy(values, values + width_, line.begin());
    for (int x = 0; x < width_; ++x) {
      float sum = 0;
      for (int k = std::max(0, x - radius); k <= std::min(width_ - 1, x + radius); ++k)
        sum += line[static_cast<std::size_t>(k)];
      values[x] = sum * scale;
    }
  }
  std::vector<float> source = cover_;
  std::fill(cover_.begin(), cover_.end(), 0.0f);
  for (int y = 0; y < height_; ++y) {
    float* values = row(y);
    for (int k = std::max(0, y - radius); k <= std::min(height_ - 1, y + radius); ++k) {
      const float* from = source.data() + static_cast<std::size_t>(k) * width_;
      for (int x = 0; x < width_; ++x) values[x] += from[x] * scale;
    }
  }
  extent_ = {0, 0, height_, width_};
}

float Paint::noise(float u, float v) const {
  const float fu = std::floor(u), fv = std::floor(v);
  const int column = static_cast<int>(fu) & 15, line = static_cast<int>(fv) & 15;  // repeats after 16 knots
  const float a = smooth(u - fu), b = smooth(v - fv);
  const float* knot = lattice.data() + line * 17 + column;
  const float above = knot[0] + (knot[1] - knot[0]) * a;
  const float below = knot[17] + (knot[18] - knot[17]) * a;
  return above + (below - above) * b;
}

void Paint::pattern_row(int y, int begin, int end, float* value) const {
  const float fy = static_cast<float>(y);
  for (int x = begin; x < end; ++x) {
    const float fx = static_cast<float>(x);
    const float u = fx * along_x + fy * along_y + phase;
    const float v = fy * along_x - fx * along_y + phase;
    float t = 0;
    switch (pattern) {
      case Pattern::plain: break;
      case Pattern::stripes: t = wave(u); break;
      case Pattern::checker: t = wave(u) * wave(v); break;
      case Pattern::dots: {
        const float du = u - std::floor(u) - 0.5f, dv = v - std::floor(v) - 0.5f;
        t = std::clamp((0.08f - du * du - dv * dv) * 25.0f, -1.0f, 1.0f);
        break;
      }
      case Pattern::noise: t = 0.65f * noise(u, v) + 0.35f * noise(2.0f * u + 5.3f, 2.0f * v + 9.1f); break;
      case Pattern::gradient: t = std::clamp(0.5f * u - phase, -1.0f, 1.0f); break;
    }
    value[x] = t;
  }
}

void Paint::row(int y, int begin, int end, const float* cover, float* rgb) const {
  std::vector<float> value(static_cast<std::size_t>(std::max(end, 1)));
  pattern_row(y, begin, end, value.data());
  const float light_here = light + light_y * static_cast<float>(y);
  for (int x = begin; x < end; ++x) {
    const float share = cover ? std::min(cover[x], 1.0f) : 1.0f;
    if (share <= 0.0f) continue;
    const float brightness = light_here + light_x * static_cast<float>(x);
    float* pixel = rgb + 3 * static_cast<std::ptrdiff_t>(x);
    for (std::size_t c = 0; c < 3; ++c) {
      const float colour = (base[c] + tint[c] * value[static_cast<std::size_t>(x)]) * brightness;
      pixel[c] += (colour - pixel[c]) * share;
    }
  }
}

}  // namespace ridgeline::data
