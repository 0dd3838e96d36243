// ridgeline/data/transform/options.h
//
// Small types that the options of transforms share. Values; checked where the graph is built.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace ridgeline::data {

// One number means a square (or, for Resize, the shorter side); two mean height and width.
struct Size {
  std::vector<std::int64_t> values;
  Size(std::int64_t side) : values{side} {}  // NOLINT(google-explicit-constructor): Resize(256) should read so
  Size(std::int64_t height, std::int64_t width) : values{height, width} {}
};

// The range from which a parameter is drawn: one number (its meaning depends on the transform) or the smallest and
// largest value; by default nothing is drawn.
struct Range {
  std::vector<double> values;
  Range() = default;
  Range(double most) : values{most} {}  // NOLINT(google-explicit-constructor): RandomRotation(30) should read so
  Range(double least, double most) : values{least, most} {}
};

// What pixels from outside the image are filled with: one value for all channels or three, 0 to 255.
struct Fill {
  std::vector<std::int64_t> values{0};
  Fill() = default;
  Fill(std::int64_t value) : values{value} {}  // NOLINT(google-explicit-constructor): .fill = 128 should read so
  Fill(std::int64_t red, std::int64_t green, std::int64_t blue) : values{red, green, blue} {}
};

}  // namespace ridgeline::data
