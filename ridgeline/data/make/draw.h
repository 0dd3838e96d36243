// ridgeline/data/make/draw.h
//
// Draws the pictures of the embedded data set: filled outlines with smooth edges, textured and lit surfaces. Uses only
// basic arithmetic, floor and square root: the same pixels on every machine. Single-threaded objects.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ridgeline/core/random.h"
#include "ridgeline/image/image.h"

namespace ridgeline::data {

struct Point {
  double x = 0, y = 0;
};

// One or more closed contours; inside by the non-zero winding rule, so a hole runs in the opposite direction.
using Outline = std::vector<std::vector<Point>>;

// How much of each pixel something covers, 0 to 1.
class Mask {
 public:
  Mask(int height, int width) : height_(height), width_(width), cover_(static_cast<std::size_t>(height) * width) {}
  // Adds an outline in pixel coordinates: exact horizontally, four sample lines for each pixel vertically.
  void fill(const Outline& outline);
  // Averages over 2 * radius + 1 pixels in both directions.
  void blur(int radius);

  int height() const { return height_; }
  int width() const { return width_; }
  const float* row(int y) const { return cover_.data() + static_cast<std::size_t>(y) * width_; }
  float* row(int y) { return cover_.data() + static_cast<std::size_t>(y) * width_; }
  // Rows and columns that may be above zero.
  image::Box extent() const { return extent_; }

 private:
  void add_span(float* row, double begin, double end);

  int height_, width_;
  std::vector<float> cover_;
  image::Box extent_;
};

enum class Pattern { plain, stripes, checker, dots, noise, gradient };
inline constexpr int kPatterns = 6;

// A lit, textured surface in the plane of the picture. Colours run from 0 to 1.
struct Paint {
  std::array<float, 3> base{};
  std::array<float, 3> tint{};  // added times the pattern, which runs from -1 to 1
  Pattern pattern = Pattern::plain;
  float along_x = 1, along_y = 0;  // direction of the pattern, as a fraction of its period per pixel
  float phase = 0;
  float light = 1, light_x = 0, light_y = 0;  // brightness: light + light_x * x + light_y * y
  std::array<float, 17 * 17> lattice{};       // values of the noise at its grid points

  // Paints pixels begin..end-1 of row y into rgb (3 floats a pixel, indexed by column), weighted by cover if given.
  void row(int y, int begin, int end, const float* cover, float* rgb) const;

 private:
  void pattern_row(int y, int begin, int end, float* value) const;
  float noise(float u, float v) const;
};

}  // namespace ridgeline::data
