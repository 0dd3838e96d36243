#include "ridgeline/image/augment/border.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ridgeline/image/pixel_rows.h"

namespace ridgeline::image {
namespace {

constexpr std::pair<BorderMode, std::string_view> kBorderNames[] = {{BorderMode::constant, "constant"},
                                                                    {BorderMode::edge, "edge"},
                                                                    {BorderMode::reflect, "reflect"},
                                                                    {BorderMode::symmetric, "symmetric"}};

constexpr int kOutside = -1;

// For each position of the padded side its source, kOutside for the fill colour.
std::vector<int> sources(BorderMode mode, int before, int n, int after) {
  std::vector<int> result;
  result.reserve(static_cast<std::size_t>(before) + static_cast<std::size_t>(n) + static_cast<std::size_t>(after));
  for (int i = -before; i < n + after; ++i) {
    const bool inside = i >= 0 && i < n;
    result.push_back(inside ? i : mode == BorderMode::constant ? kOutside : source_position(mode, i, n));
  }
  return result;
}

}  // namespace

std::string_view name_of(BorderMode mode) {
  for (const auto& [value, name] : kBorderNames) {
    if (value == mode) return name;
  }
  return "unknown";
}

BorderMode parse_border_mode(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [value, known] : kBorderNames) {
    if (known == name) return value;
    names.emplace_back(known);
  }
  throw Error("[pad] unknown mode '" + std::string(name) + "'" + did_you_mean(name, names) +
                  " (allowed: constant, edge, reflect, symmetric)",
              ErrorKind::usage);
}

int source_position(BorderMode mode, int position, int n) {
  RIDGELINE_CHECK(mode != BorderMode::constant && n > 0, "a position of an image that goes on");
  if (mode == BorderMode::edge || n == 1) return std::clamp(position, 0, n - 1);
  const int period = mode == BorderMode::reflect ? 2 * (n - 1) : 2 * n;
  int at = position % period;
  if (at < 0) at += period;
  if (at < n) return at;
  return mode == BorderMode::reflect ? period - at : period - 1 - at;
}

Size padded_size(Size image, const Border& border) {
  constexpr int kLimit = 1 << 20;  // as the resizer's longest side
  for (const int side : {border.top, border.left, border.bottom, border.right}) {
    if (side < 0 || side > kLimit) {
      throw Error("[pad] borders must be 0 to " + std::to_string(kLimit) + " pixels, not " + std::to_string(side));
    }
  }
  return {image.height + border.top + border.bottom, image.width + border.left + border.right};
}

void pad(const ImageView& in, const Border& border, BorderMode mode, Colour fill, std::uint8_t* out) {
  check_pixels("pad", in);
  padded_size({in.height, in.width}, border);
  RIDGELINE_CHECK(in.data != out, "padding is not done in place");
  const std::vector<int> rows = sources(mode, border.top, in.height, border.bottom);
  const std::vector<int> columns = sources(mode, border.left, in.width, border.right);
  const auto channels = static_cast<std::size_t>(in.channels);
  for (const int row : rows) {
    for (const int column : columns) {
      const bool outside = row == kOutside || column == kOutside;
      std::memcpy(out, outside ? fill.data() : in.pixel(row, column), channels);
      out += channels;
    }
  }
}

}  // namespace ridgeline::image
