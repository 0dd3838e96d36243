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

// A range that holds only the neutral value costs no draw.
double drawn(Interval range, double neutral, SampleRandom& random) {
  if (range.low == neutral && range.high == neutral) return neutral;
  return random.uniform(range.low, range.high);
}

}  // namespace

void check_random_affine_law(const RandomAffineLaw& law) {
  check_interval("random_affine", "degrees", law.degrees);
  check_interval("random_affine", "scale", law.scale);
  check_interval("random_affine", "shear", law.shear_x);
  check_interval("random_affine", "shear", law.shear_y);
  if (!(law.scale.low > 0)) throw Error("[random_affine] scale must be positive");
  for (const double share : {law.translate_x, law.translate_y}) {
    if (!(share >= 0 && share <= 1)) {
      throw Error("[random_affine] translations are shares of the image, 0 to 1, not " + std::to_string(share));
    }
  }
}

AffineLaw draw_affine(const RandomAffineLaw& law, Size image, SampleRandom& random) {
  check_random_affine_law(law);
  AffineLaw result;
  result.angle = random.uniform(law.degrees.low, law.degrees.high);
  if (law.translate_x != 0 || law.translate_y != 0) {
    const double most_x = law.translate_x * image.width, most_y = law.translate_y * image.height;
    result.translate_x = round_half_even(random.uniform(-most_x, most_x));
    result.translate_y = round_half_even(random.uniform(-most_y, most_y));
  }
  result.scale = drawn(law.scale, 1, random);
  result.shear_x = drawn(law.shear_x, 0, random);
  result.shear_y = drawn(law.shear_y, 0, random);
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
