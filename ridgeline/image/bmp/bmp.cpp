#include "ridgeline/image/bmp/bmp.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/image/bmp/info.h"
#include "ridgeline/image/bmp/runs.h"

namespace ridgeline::image {
namespace {

using Bytes = std::span<const std::uint8_t>;

[[noreturn]] void cut_short() { throw Error("[bmp] the file ends inside its pixels"); }

// The palette's colours as RGB; missing ones are black.
class Colours {
 public:
  explicit Colours(const BmpInfo& info) : rgb_(std::size_t{256} * 3) {
    if (is_scale_of_greys(info)) {
      for (std::size_t i = 0; i < rgb_.size(); ++i) rgb_[i] = static_cast<std::uint8_t>(i / 3);
      return;
    }
    if (info.colours > 256) throw Error("[bmp] a palette of " + std::to_string(info.colours) + " colours is not read");
    const auto bytes = static_cast<std::size_t>(info.colour_bytes);
    for (std::size_t i = 0; i < std::min(info.palette.size() / bytes, info.colours); ++i) {
      for (std::size_t c = 0; c < 3; ++c) rgb_[3 * i + c] = info.palette[i * bytes + 2 - c];
    }
  }
  void put(std::uint8_t index, std::uint8_t* rgb) const { std::copy_n(&rgb_[std::size_t{3} * index], 3, rgb); }

 private:
  // Each colour equals its index: Pillow then ignores the palette, so that indices beyond it are greys, too.
  static bool is_scale_of_greys(const BmpInfo& info) {
    const auto bytes = static_cast<std::size_t>(info.colour_bytes);
    if (info.colours == 2 || info.palette.size() < info.colours * bytes) return false;
    for (std::size_t i = 0; i < info.colours; ++i) {
      const Bytes colour = info.palette.subspan(i * bytes, 3);
      if (std::any_of(colour.begin(), colour.end(), [&](std::uint8_t v) { return v != (i & 255); })) return false;
    }
    return true;
  }

  std::vector<std::uint8_t> rgb_;
};

void unpack_indices(const std::uint8_t* row, const BmpInfo& info, const Colours& colours, std::uint8_t* rgb) {
  const int mask = (1 << info.bits) - 1;
  for (int x = 0; x < info.width; ++x, rgb += 3) {
    const std::ptrdiff_t bit = static_cast<std::ptrdiff_t>(x) * info.bits;
    colours.put(static_cast<std::uint8_t>(row[bit / 8] >> (8 - info.bits - bit % 8) & mask), rgb);
  }
}

void unpack_pixels(const std::uint8_t* row, const BmpInfo& info, std::uint8_t* rgb) {
  const BmpInfo::Layout& at = info.layout;
  const auto part = [](int pixel, int from, int bits) {  // rounded down, as in Pillow
    const int most = (1 << bits) - 1;
    return static_cast<std::uint8_t>((pixel >> from & most) * 255 / most);
  };
  for (int x = 0; x < info.width; ++x, rgb += 3, row += info.bits / 8) {
    if (info.bits == 16) {
      const int pixel = row[0] | row[1] << 8;
      rgb[0] = part(pixel, at.red, 5);
      rgb[1] = part(pixel, at.green, at.green_bits);
      rgb[2] = part(pixel, at.blue, 5);
    } else {
      rgb[0] = row[at.red];
      rgb[1] = row[at.green];
      rgb[2] = row[at.blue];
    }
  }
}

// The file's y-th row goes to this one.
int place_of(int y, const BmpInfo& info) { return info.top_down ? y : info.height - 1 - y; }

}  // namespace

Header bmp_header(Bytes bytes) {
  const BmpInfo info = read_bmp_info(bytes);
  return {.format = Format::bmp,
          .height = info.height,
          .width = info.width,
          .components = info.bits <= 8      ? 1
                        : info.layout.alpha ? 4
                                            : 3};
}

Image decode_bmp(Bytes bytes, const DecodeLimits& limits) {
  const BmpInfo info = read_bmp_info(bytes);
  if (static_cast<std::int64_t>(info.height) * info.width > limits.max_pixels) {
    throw Error("[bmp] " + std::to_string(info.height) + "x" + std::to_string(info.width) +
                " pixels are more than the limit of " + std::to_string(limits.max_pixels));
  }
  if (info.pixels > bytes.size()) cut_short();
  const Bytes pixels = bytes.subspan(info.pixels);
  if (info.coding != BmpInfo::Coding::plain) {
    const Colours colours(info);
    const std::vector<std::uint8_t> indices =
        expand_bmp_runs(pixels, info.coding == BmpInfo::Coding::rle4, {info.height, info.width});
    Image image(info.height, info.width, 3);
    const std::uint8_t* from = indices.data();
    for (int y = 0; y < info.height; ++y) {
      std::uint8_t* rgb = image.row(place_of(y, info));
      for (int x = 0; x < info.width; ++x, rgb += 3) colours.put(*from++, rgb);
    }
    return image;
  }
  // Rows are padded to 4 bytes; the last one need not be.
  const std::size_t bits = static_cast<std::size_t>(info.width) * static_cast<std::size_t>(info.bits);
  const std::size_t stride = (bits + 31) / 32 * 4;
  if (stride * static_cast<std::size_t>(info.height - 1) + (bits + 7) / 8 > pixels.size()) cut_short();
  Image image(info.height, info.width, 3);
  if (info.bits > 8) {
    for (int y = 0; y < info.height; ++y)
      unpack_pixels(pixels.data() + stride * static_cast<std::size_t>(y), info, image.row(place_of(y, info)));
    return image;
  }
  const Colours colours(info);
  for (int y = 0; y < info.height; ++y)
    unpack_indices(pixels.data() + stride * static_cast<std::size_t>(y), info, colours, image.row(place_of(y, info)));
  return image;
}

}  // namespace ridgeline::image
