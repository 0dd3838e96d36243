#include "ridgeline/image/augment/colour.h"

#include <algorithm>

#include "ridgeline/image/pixel_rows.h"

namespace ridgeline::image {
namespace {

struct Hsv {
  std::uint8_t h, s, v;
};

// Pillow's rgb2hsv_row (Convert.c): quotients in float, the sums of the sectors in double, fractions dropped.
Hsv to_hsv(const std::uint8_t* rgb) {
  const int r = rgb[0], g = rgb[1], b = rgb[2];
  const int high = std::max({r, g, b}), low = std::min({r, g, b});
  if (high == low) return {0, 0, static_cast<std::uint8_t>(high)};
  const auto range = static_cast<float>(high - low);
  const float s = range / static_cast<float>(high);
  const float rc = static_cast<float>(high - r) / range;
  const float gc = static_cast<float>(high - g) / range;
  const float bc = static_cast<float>(high - b) / range;
  float h;
  if (r == high) {
    h = bc - gc;
  } else if (g == high) {
    h = static_cast<float>(2.0 + static_cast<double>(rc) - static_cast<double>(bc));
  } else {
    h = static_cast<float>(4.0 + static_cast<double>(gc) - static_cast<double>(rc));
  }
  const double turned = static_cast<double>(h) / 6.0 + 1.0;  // from 5/6 to 2: its fraction is exact
  const auto turn = static_cast<float>(turned - std::floor(turned));
  return {static_cast<std::uint8_t>(static_cast<int>(static_cast<double>(turn) * 255.0)),
          static_cast<std::uint8_t>(static_cast<int>(static_cast<double>(s) * 255.0)), static_cast<std::uint8_t>(high)};
}

// C's round() of what is not negative.
std::uint8_t rounded(double value) { return static_cast<std::uint8_t>(std::floor(value + 0.5)); }

// Pillow's hsv2rgb.
void to_rgb(Hsv hsv, std::uint8_t* rgb) {
  if (hsv.s == 0) {
    rgb[0] = rgb[1] = rgb[2] = hsv.v;
    return;
  }
  const double sixths = static_cast<double>(hsv.h) * 6.0 / 255.0;
  const int sector = static_cast<int>(sixths);
  const auto f = static_cast<float>(sixths - static_cast<double>(static_cast<float>(sector)));
  const auto s = static_cast<float>(static_cast<double>(hsv.s) / 255.0);
  const double v = hsv.v, fd = f, sd = s;
  const std::uint8_t p = rounded(v * (1.0 - sd));
  const std::uint8_t q = rounded(v * (1.0 - static_cast<double>(s * f)));
  const std::uint8_t t = rounded(v * (1.0 - sd * (1.0 - fd)));
  switch (sector % 6) {
    case 0: rgb[0] = hsv.v, rgb[1] = t, rgb[2] = p; break;
    case 1: rgb[0] = q, rgb[1] = hsv.v, rgb[2] = p; break;
    case 2: rgb[0] = p, rgb[1] = hsv.v, rgb[2] = t; break;
    case 3: rgb[0] = p, rgb[1] = q, rgb[2] = hsv.v; break;
    case 4: rgb[0] = t, rgb[1] = p, rgb[2] = hsv.v; break;
    default: rgb[0] = hsv.v, rgb[1] = p, rgb[2] = q; break;
  }
}

}  // namespace

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
    const std::uint8_t* row = in.row(y);
    for (std::size_t i = 0; i < bytes; i += 3) {
      Hsv hsv = to_hsv(row + i);
      hsv.h = static_cast<std::uint8_t>(hsv.h + shift);
      to_rgb(hsv, out + i);
    }
  }
}

}  // namespace ridgeline::image
