#include "ridgeline/image/augment/warp_draw.h"

#include <cmath>
#include <string>

#include "ridgeline/core/error.h"
#include "ridgeline/image/geometry.h"

namespace ridgeline::image {
namespace {

void check_interval(const char* op, const char* what, Interval range) {
  if (range.low <= range.high && std::isfinite(range.low) && std::isfinite(range.high)) return;
  throw Error(std::string("[") + op + "] " + what + " must be a finite range low <= high, not (" +
              std::to_string(range.low) + ", " + std::to_string(range.high) + ")");
}

// A range of only the neutral value needs no draw.
double drawn(Interval range, double neutral, SampleRandom& random) {
  if (range.low == neutral && range.high == neutral) return neutral;
  return random.uniform(range.low, range.high);
}

}  // namespace

void check_random_affine_rule(const RandomAffineRule& rule) {
  check_interval("random_affine", "degrees", rule.degrees);
  check_interval("random_affine", "scale", rule.scale);
  check_interval("random_affine", "shear", rule.shear_x);
  check_interval("random_affine", "shear", rule.shear_y);
  if (!(rule.scale.low > 0)) throw Error("[random_affine] scale must be positive");
  for (const double share : {rule.translate_x, rule.translate_y}) {
    if (!(share >= 0 && share <= 1)) {
      throw Error("[random_affine] translations are shares of the image, 0 to 1, not " + std::to_string(share));
    }
  }
}

AffineRule draw_affine(const RandomAffineRule& rule, Size image, SampleRandom& random) {
  check_random_affine_rule(rule);
  AffineRule result;
  result.angle = random.uniform(rule.degrees.low, rule.degrees.high);
  if (rule.translate_x != 0 || rule.translate_y != 0) {
    const double most_x = rule.translate_x * image.width, most_y = rule.translate_y * image.height;
    result.translate_x = round_half_even(random.uniform(-most_x, most_x));
    result.translate_y = round_half_even(random.uniform(-most_y, most_y));
  }
  result.scale = drawn(rule.scale, 1, random);
  result.shear_x = drawn(rule.shear_x, 0, random);
  result.shear_y = drawn(rule.shear_y, 0, random);
  return result;
}

double draw_angle(Interval degrees, SampleRandom& random) {
  check_interval("random_rotation", "degrees", degrees);
  return random.uniform(degrees.low, degrees.high);
}

PerspectiveCoefficients draw_perspective(double distortion, Size image, SampleRandom& random) {
  if (!(distortion >= 0 && distortion <= 1)) {
    throw Error("[random_perspective] distortion must be 0 to 1, not " + std::to_string(distortion));
  }
  if (image.height < 2 || image.width < 2) {
    throw Error("[random_perspective] needs at least 2x2 pixels, not " + std::to_string(image.height) + "x" +
                std::to_string(image.width));
  }
  const int half_width = image.width / 2, half_height = image.height / 2;
  const int across = static_cast<int>(distortion * half_width), down = static_cast<int>(distortion * half_height);
  const int right = image.width - 1, bottom = image.height - 1;
  const auto from = [&](int low, int high) { return static_cast<double>(random.integer(low, high)); };
  Corners moved;
  moved[0][0] = from(0, across);
  moved[0][1] = from(0, down);
  moved[1][0] = from(right - across, right);
  moved[1][1] = from(0, down);
  moved[2][0] = from(right - across, right);
  moved[2][1] = from(bottom - down, bottom);
  moved[3][0] = from(0, across);
  moved[3][1] = from(bottom - down, bottom);
  const double w = right, h = bottom;
  return perspective_coefficients({{{0, 0}, {w, 0}, {w, h}, {0, h}}}, moved);
}

}  // namespace ridgeline::image
