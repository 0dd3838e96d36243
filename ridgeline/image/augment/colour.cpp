#include "ridgeline/image/augment/colour.h"

#include <algorithm>

#include "ridgeline/image/augment/colour_rows.h"
#include "ridgeline/image/pixel_rows.h"

namespace ridgeline::image {
void grayscale(const ImageView& in, int out_channels, std::uint8_t* out) {
  check_pixels("grayscale", in);
  if (out_channels != 1 && out_channels != 3) {
    throw Error("[grayscale] makes 1 or 3 channels, not " + std::to_string(out_channels));
  }
  const auto channels = static_cast<std::size_t>(out_channels);
  for (int y = 0; y < in.height; ++y) {
    const std::uint8_t* from = in.row(y);
    for (int x = 0; x < in.width; ++x, from += in.channels, out += channels) {
      const auto grey = static_cast<std::uint8_t>(in.channels == 3 ? luma(from) : *from);
      std::fill(out, out + channels, grey);
    }
  }
}

void adjust_hue(const ImageView& in, double factor, std::uint8_t* out) {
  check_pixels("adjust_hue", in);
  if (!(factor >= -0.5 && factor <= 0.5)) {
    throw Error("[adjust_hue] factor " + std::to_string(factor) + " is not from -0.5 to 0.5");
  }
  if (in.channels == 1) return copy_pixels(in, out);
  const int shift = static_cast<int>(factor * 255);
  const std::size_t bytes = row_bytes(in);
  for (int y = 0; y < in.height; ++y, out += bytes) {
    shift_hue_row(shift, in.row(y), static_cast<std::size_t>(in.width), out);
  }
}

}  // namespace ridgeline::image
