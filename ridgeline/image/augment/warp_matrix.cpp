// The matrices of warp.h: from angles, scales and shears, and from corner points.
#include <algorithm>
#include <numbers>
#include <utility>

#include "ridgeline/core/math.h"
#include "ridgeline/image/augment/warp.h"
#include "ridgeline/image/pixel_rows.h"

namespace ridgeline::image {
namespace {

constexpr std::pair<Sampling, std::string_view> kSamplingNames[] = {
    {Sampling::nearest, "nearest"}, {Sampling::bilinear, "bilinear"}, {Sampling::bicubic, "bicubic"}};

double radians(double degrees) { return degrees * (std::numbers::pi / 180.0); }

}  // namespace

std::string_view name_of(Sampling sampling) {
  for (const auto& [value, name] : kSamplingNames) {
    if (value == sampling) return name;
  }
  return "unknown";
}

Sampling parse_sampling(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [value, known] : kSamplingNames) {
    if (known == name) return value;
    names.emplace_back(known);
  }
  throw Error("[affine] unknown sampling '" + std::string(name) + "'" + did_you_mean(name, names) +
                  " (allowed: nearest, bilinear, bicubic)",
              ErrorKind::usage);
}

AffineMatrix affine_matrix(const AffineRule& rule, Size image) {
  return affine_matrix(rule, image.width * 0.5, image.height * 0.5);
}

AffineMatrix affine_matrix(const AffineRule& rule, double centre_x, double centre_y) {
  for (const double v :
       {rule.angle, rule.translate_x, rule.translate_y, rule.shear_x, rule.shear_y, centre_x, centre_y}) {
    check_finite("affine", "angle, translation, shear and centre", v);
  }
  if (!(rule.scale > 0) || !std::isfinite(rule.scale)) {
    throw Error("[affine] scale must be positive, not " + std::to_string(rule.scale));
  }
  const double turn = radians(rule.angle), sx = radians(rule.shear_x), sy = radians(rule.shear_y);
  const double cos_sx = portable_cos(sx), cos_sy = portable_cos(sy);
  if (std::fabs(cos_sx) < 1e-9 || std::fabs(cos_sy) < 1e-9) {
    throw Error("[affine] a shear of 90 degrees flattens the image");
  }
  const double tan_sx = portable_sin(sx) / cos_sx;
  // turn * scale * shear y * shear x, without the scale; its determinant is 1.
  const double a = portable_cos(turn - sy) / cos_sy;
  const double b = -portable_cos(turn - sy) * tan_sx / cos_sy - portable_sin(turn);
  const double c = portable_sin(turn - sy) / cos_sy;
  const double d = -portable_sin(turn - sy) * tan_sx / cos_sy + portable_cos(turn);
  AffineMatrix m{d / rule.scale, -b / rule.scale, 0.0, -c / rule.scale, a / rule.scale, 0.0};
  m.c = m.a * (-centre_x - rule.translate_x) + m.b * (-centre_y - rule.translate_y) + centre_x;
  m.f = m.d * (-centre_x - rule.translate_x) + m.e * (-centre_y - rule.translate_y) + centre_y;
  return m;
}

// Eight linear equations: for each pair of points, x' (g x + h y + 1) = a x + b y + c, and the same for y'.
PerspectiveCoefficients perspective_coefficients(const Corners& source, const Corners& result) {
  std::array<std::array<double, 9>, 8> rows{};
  for (std::size_t i = 0; i < 4; ++i) {
    const double x = result[i][0], y = result[i][1], to_x = source[i][0], to_y = source[i][1];
    rows[2 * i] = {x, y, 1, 0, 0, 0, -to_x * x, -to_x * y, to_x};
    rows[2 * i + 1] = {0, 0, 0, x, y, 1, -to_y * x, -to_y * y, to_y};
  }
  for (std::size_t k = 0; k < 8; ++k) {  // Gauss and Jordan, largest pivot of the column
    std::size_t best = k;
    for (std::size_t r = k + 1; r < 8; ++r) {
      if (std::fabs(rows[r][k]) > std::fabs(rows[best][k])) best = r;
    }
    std::swap(rows[k], rows[best]);
    if (!(std::fabs(rows[k][k]) > 1e-9)) {
      throw Error("[perspective] three of the corner points lie on a line: no perspective brings them to the others");
    }
    for (std::size_t r = 0; r < 8; ++r) {
      if (r == k) continue;
      const double factor = rows[r][k] / rows[k][k];
      for (std::size_t c = k; c < 9; ++c) rows[r][c] -= factor * rows[k][c];
    }
  }
  PerspectiveCoefficients k;
  for (std::size_t i = 0; i < 8; ++i) k[i] = static_cast<float>(rows[i][8] / rows[i][i]);
  return k;
}

}  // namespace ridgeline::image
