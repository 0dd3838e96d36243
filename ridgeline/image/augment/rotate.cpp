#include "ridgeline/image/augment/rotate.h"

#include <algorithm>
#include <charconv>
#include <numbers>

#include "ridgeline/core/math.h"
#include "ridgeline/image/pixel_rows.h"

namespace ridgeline::image {
namespace {

// Python's round(v, 15): the nearest decimal of 15 digits, as a double. Pillow rounds so to make whole angles exact.
double round_to_15_digits(double v) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, v, std::chars_format::fixed, 15).ptr;
  double result = 0;
  std::from_chars(text, end, result);
  return result;
}

// Python's angle % 360: from 0 to below 360.
double reduced(double angle) {
  double rest = std::fmod(angle, 360.0);
  if (rest < 0) rest += 360.0;
  return rest;
}

Centre mapped(const AffineMatrix& m, double x, double y) { return {m.a * x + m.b * y + m.c, m.d * x + m.e * y + m.f}; }

void grow_to_fit(Size image, Rotation& rotation) {
  AffineMatrix& m = rotation.matrix;
  const double w = image.width, h = image.height;
  const std::array<Centre, 4> corners = {mapped(m, 0, 0), mapped(m, w, 0), mapped(m, w, h), mapped(m, 0, h)};
  const auto [left, right] = std::ranges::minmax(corners, {}, &Centre::x);
  const auto [top, bottom] = std::ranges::minmax(corners, {}, &Centre::y);
  rotation.size = {static_cast<int>(std::ceil(bottom.y)) - static_cast<int>(std::floor(top.y)),
                   static_cast<int>(std::ceil(right.x)) - static_cast<int>(std::floor(left.x))};
  const Centre moved = mapped(m, -(rotation.size.width - w) / 2.0, -(rotation.size.height - h) / 2.0);
  m.c = moved.x, m.f = moved.y;
}

// Result pixel (y, x) is source pixel (row(y, x), column(y, x)).
template <class Source>
void move_pixels(const ImageView& in, Size size, std::uint8_t* out, Source source) {
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x, out += in.channels) {
      const auto [row, column] = source(y, x);
      std::memcpy(out, in.pixel(row, column), static_cast<std::size_t>(in.channels));
    }
  }
}

}  // namespace

Rotation plan_rotation(Size image, double angle, bool expand, std::optional<Centre> centre) {
  using Kind = Rotation::Kind;
  check_finite("rotate", "the angle", angle);
  if (centre) check_finite("rotate", "the centre", centre->x + centre->y);
  angle = reduced(angle);
  Rotation rotation{Kind::warp, image, {}};
  if (!centre) {
    const bool quarters = expand || image.width == image.height;
    if (angle == 0) rotation.kind = Kind::copy;
    if (angle == 180) rotation.kind = Kind::half;
    if (quarters && angle == 90) rotation.kind = Kind::quarter;
    if (quarters && angle == 270) rotation.kind = Kind::three_quarters;
    if (rotation.kind == Kind::quarter || rotation.kind == Kind::three_quarters) {
      rotation.size = {image.width, image.height};
    }
    if (rotation.kind != Kind::warp) return rotation;
  }
  const Centre about = centre.value_or(Centre{image.width / 2.0, image.height / 2.0});
  const double turn = -(angle * (std::numbers::pi / 180.0));
  const double cos = round_to_15_digits(portable_cos(turn)), sin = round_to_15_digits(portable_sin(turn));
  AffineMatrix& m = rotation.matrix;
  m = {cos, sin, 0.0, -sin, cos, 0.0};
  const Centre moved = mapped(m, -about.x, -about.y);
  m.c = moved.x + about.x;
  m.f = moved.y + about.y;
  if (expand) grow_to_fit(image, rotation);
  return rotation;
}

void rotate(const ImageView& in, const Rotation& rotation, Sampling sampling, Colour fill, std::uint8_t* out) {
  using Kind = Rotation::Kind;
  check_pixels("rotate", in);
  RIDGELINE_CHECK(in.data != out, "a rotation is not done in place");
  const int last_row = in.height - 1, last_column = in.width - 1;
  switch (rotation.kind) {
    case Kind::copy: return copy_pixels(in, out);
    case Kind::half:
      return move_pixels(in, rotation.size, out,
                         [&](int y, int x) { return std::pair(last_row - y, last_column - x); });
    case Kind::quarter:
      return move_pixels(in, rotation.size, out, [&](int y, int x) { return std::pair(x, last_column - y); });
    case Kind::three_quarters:
      return move_pixels(in, rotation.size, out, [&](int y, int x) { return std::pair(last_row - x, y); });
    case Kind::warp: return warp_affine(in, rotation.matrix, sampling, fill, rotation.size, out);
  }
}

void rotate(const ImageView& in, double angle, Sampling sampling, Colour fill, std::uint8_t* out) {
  rotate(in, plan_rotation({in.height, in.width}, angle), sampling, fill, out);
}

}  // namespace ridgeline::image
