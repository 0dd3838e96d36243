#include "ridgeline/image/bmp/runs.h"

#include <algorithm>

#include "ridgeline/core/error.h"

namespace ridgeline::image {
namespace {

// After a zero: the end of a row, of the picture, a step to the right and up; other numbers announce so many pixels.
enum Escape : std::uint8_t { kEndOfRow = 0, kEndOfPicture = 1, kStep = 2 };

}  // namespace

std::vector<std::uint8_t> expand_bmp_runs(std::span<const std::uint8_t> runs, bool four_bits, Size size) {
  const auto width = static_cast<std::size_t>(size.width), height = static_cast<std::size_t>(size.height);
  std::vector<std::uint8_t> out(width * height);
  std::size_t at = 0, x = 0, y = 0;
  const auto left = [&] { return runs.size() - at; };
  // `get(i)` is the i-th of `count` pixels.
  const auto put = [&](std::size_t count, auto get) {
    for (std::size_t i = 0; i < count && x < width; ++i, ++x) out[y * width + x] = get(i);
  };
  const auto nibble = [](std::uint8_t byte, std::size_t i) {
    return static_cast<std::uint8_t>(i % 2 == 0 ? byte >> 4 : byte & 15);
  };
  const auto complete = [&] { return y >= height || (y + 1 == height && x >= width); };
  while (!complete()) {
    if (left() < 2) throw Error("[bmp] the file ends inside its pixels");
    const std::uint8_t count = runs[at], value = runs[at + 1];
    at += 2;
    if (count > 0) {
      put(count, [&](std::size_t i) { return four_bits ? nibble(value, i) : value; });
    } else if (value == kEndOfRow) {
      x = 0;
      ++y;
    } else if (value == kEndOfPicture) {
      throw Error("[bmp] the runs end before the picture does");
    } else if (value == kStep) {
      if (left() < 2) throw Error("[bmp] the file ends inside its pixels");
      x = std::min(width, x + runs[at]);
      y += runs[at + 1];
      at += 2;
    } else {
      const std::size_t bytes = four_bits ? (std::size_t{value} + 1) / 2 : value;
      if (left() < bytes) throw Error("[bmp] the file ends inside its pixels");
      const std::uint8_t* pixels = runs.data() + at;
      put(value, [&](std::size_t i) { return four_bits ? nibble(pixels[i / 2], i) : pixels[i]; });
      at = std::min(runs.size(), at + (bytes + 1) / 2 * 2);  // filled up to two bytes
    }
  }
  return out;
}

}  // namespace ridgeline::image
