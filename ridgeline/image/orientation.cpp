#include "ridgeline/image/orientation.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <optional>

#include "ridgeline/core/error.h"
#include "ridgeline/image/exif.h"
#include "ridgeline/image/sniff.h"

namespace ridgeline::image {
const std::vector<std::string>& exif_orientation_names() {
  static const std::vector<std::string> names{"ignore", "apply"};
  return names;
}

std::string name_of(ExifOrientation orientation) {
  return exif_orientation_names().at(static_cast<std::size_t>(orientation));
}

ExifOrientation parse_exif_orientation(const std::string& text) {
  if (text == "ignore") return ExifOrientation::ignore;
  if (text == "apply") return ExifOrientation::apply;
  throw Error("exif_orientation is '" + text + "' (allowed: ignore, apply)");
}

int exif_orientation(std::span<const std::uint8_t> file) {
  std::optional<std::int64_t> found;
  switch (sniff(file).format) {
    case Format::jpeg: found = jpeg_orientation(file); break;
    case Format::png: found = png_orientation(file); break;
    case Format::webp: found = webp_orientation(file); break;
    case Format::bmp:
    case Format::other: break;
  }
  return found && *found >= 1 && *found <= 8 ? static_cast<int>(*found) : 1;
}

Turn turn_of(int orientation) {
  const auto one_of = [&](std::initializer_list<int> list) {
    return std::find(list.begin(), list.end(), orientation) != list.end();
  };
  return {one_of({5, 6, 7, 8}), one_of({3, 4, 6, 7}), one_of({2, 3, 7, 8})};
}

Size upright_size(Size stored, int orientation) {
  return turn_of(orientation).transposed ? Size{stored.width, stored.height} : stored;
}

Box stored_box(const Box& upright, Size stored, int orientation) {
  const Turn turn = turn_of(orientation);
  Box box = turn.transposed ? Box{upright.left, upright.top, upright.width, upright.height} : upright;
  if (turn.from_below) box.top = stored.height - box.top - box.height;
  if (turn.from_right) box.left = stored.width - box.left - box.width;
  return box;
}

void turn_upright(const ImageView& stored, int orientation, Image& out) {
  const Turn turn = turn_of(orientation);
  const Size size = upright_size({stored.height, stored.width}, orientation);
  out.reset(size.height, size.width, stored.channels);
  const auto channels = static_cast<std::size_t>(stored.channels);
  for (int y = 0; y < size.height; ++y) {
    std::uint8_t* to = out.row(y);
    for (int x = 0; x < size.width; ++x, to += channels) {
      const int row = turn.transposed ? x : y, column = turn.transposed ? y : x;
      std::memcpy(to,
                  stored.pixel(turn.from_below ? stored.height - 1 - row : row,
                               turn.from_right ? stored.width - 1 - column : column),
                  channels);
    }
  }
}

}  // namespace ridgeline::image
