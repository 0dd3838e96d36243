#include "ridgeline/data/make/shape_outlines.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"

namespace ridgeline::data {
namespace {

Point polar(double radius, double angle) { return {radius * portable_cos(angle), radius * portable_sin(angle)}; }

std::vector<Point> circle(double radius, int corners, double direction = 1) {
  std::vector<Point> points;
  for (int i = 0; i < corners; ++i) points.push_back(polar(radius, direction * kFullTurn * i / corners));
  return points;
}

Outline square(SampleRandom& random) {
  const double b = random.uniform(0.8, 1.0);
  return {{{-1, -b}, {1, -b}, {1, b}, {-1, b}}};
}

Outline triangle(SampleRandom& random) {
  std::vector<Point> points;
  for (int i = 0; i < 3; ++i) points.push_back(polar(1, kFullTurn * (i / 3.0 + random.uniform(-0.025, 0.025))));
  return {points};
}

Outline star(SampleRandom& random) {
  const double inner = random.uniform(0.38, 0.48);
  std::vector<Point> points;
  for (int i = 0; i < 10; ++i) points.push_back(polar(i % 2 ? inner : 1.0, kFullTurn * i / 10));
  return {points};
}

Outline ring(SampleRandom& random) { return {circle(1, 64), circle(random.uniform(0.5, 0.66), 64, -1)}; }

Outline cross(SampleRandom& random) {
  const double w = random.uniform(0.22, 0.34);
  return {{{-w, -1}, {w, -1}, {w, -w}, {1, -w}, {1, w}, {w, w}, {w, 1}, {-w, 1}, {-w, w}, {-1, w}, {-1, -w}, {-w, -w}}};
}

// The unit disc without a disc of radius r at (d, 0): the outer arc the long way round, the inner one back.
Outline crescent(SampleRandom& random) {
  const double d = random.uniform(0.45, 0.6), r = random.uniform(0.8, 0.92);
  const double x = (d * d + 1 - r * r) / (2 * d), y = std::sqrt(1 - x * x);
  std::vector<Point> points{{x, y}};
  constexpr int corners = 96;
  for (int i = 0; i < corners; ++i) {
    const Point p = polar(1, kFullTurn * i / corners);
    if (p.x < x) points.push_back(p);
  }
  points.push_back({x, -y});
  for (int i = corners; i > 0; --i) {
    const Point p = polar(r, kFullTurn * i / corners);
    if (p.x + d < x) points.push_back({p.x + d, p.y});
  }
  return {points};
}

Outline heart() {
  std::vector<Point> points;
  for (int i = 0; i < 64; ++i) {
    const double t = kFullTurn * i / 64, s = portable_sin(t);
    points.push_back({16 * s * s * s, -(13 * portable_cos(t) - 5 * portable_cos(2 * t) - 2 * portable_cos(3 * t) -
                                        portable_cos(4 * t))});
  }
  return {points};
}

Outline arrow(SampleRandom& random) {
  const double shaft = random.uniform(0.14, 0.22), head = random.uniform(0.5, 0.62), neck = random.uniform(0.0, 0.2);
  return {{{-1, -shaft}, {neck, -shaft}, {neck, -head}, {1, 0}, {neck, head}, {neck, shaft}, {-1, shaft}}};
}

Outline hourglass(SampleRandom& random) {
  const double w = random.uniform(0.6, 0.75), waist = random.uniform(0.06, 0.14);
  return {{{-w, -1}, {w, -1}, {waist, 0}, {w, 1}, {-w, 1}, {-waist, 0}}};
}

// Moves the middle of the bounding box to the origin and the farthest corner to the unit circle.
Outline normalised(Outline outline) {
  double left = 1e9, right = -1e9, top = 1e9, bottom = -1e9, farthest = 0;
  for (const auto& contour : outline) {
    for (const Point& p : contour) {
      left = std::min(left, p.x), right = std::max(right, p.x);
      top = std::min(top, p.y), bottom = std::max(bottom, p.y);
    }
  }
  const double x = (left + right) / 2, y = (top + bottom) / 2;
  for (auto& contour : outline) {
    for (Point& p : contour) {
      p = {p.x - x, p.y - y};
      farthest = std::max(farthest, p.x * p.x + p.y * p.y);
    }
  }
  const double scale = 1 / std::sqrt(farthest);
  for (auto& contour : outline) {
    for (Point& p : contour) p = {p.x * scale, p.y * scale};
  }
  return outline;
}

}  // namespace

Outline shape_outline(int label, SampleRandom& random) {
  switch (label) {
    case 0: return {circle(1, 64)};
    case 1: return normalised(square(random));
    case 2: return normalised(triangle(random));
    case 3: return normalised(star(random));
    case 4: return ring(random);
    case 5: return normalised(cross(random));
    case 6: return normalised(crescent(random));
    case 7: return normalised(heart());
    case 8: return normalised(arrow(random));
    case 9: return normalised(hourglass(random));
    default: break;
  }
  RIDGELINE_CHECK(false, "ten shapes");
  return {};
}

Outline blob_outline(SampleRandom& random) {
  const auto corners = static_cast<int>(random.integer(5, 8));
  std::vector<Point> points;
  for (int i = 0; i < corners; ++i) points.push_back(polar(random.uniform(0.5, 1.0), kFullTurn * i / corners));
  return normalised({points});
}

Outline placed(const Outline& outline, double angle, double squash, double squash_angle, double radius, double x,
               double y) {
  const double c = portable_cos(angle), s = portable_sin(angle);
  const double nx = portable_cos(squash_angle), ny = portable_sin(squash_angle);
  Outline result = outline;
  for (auto& contour : result) {
    for (Point& p : contour) {
      const Point turned{c * p.x - s * p.y, s * p.x + c * p.y};
      const double along = (turned.x * nx + turned.y * ny) * (squash - 1);
      p = {x + radius * (turned.x + along * nx), y + radius * (turned.y + along * ny)};
    }
  }
  return result;
}

}  // namespace ridgeline::data
