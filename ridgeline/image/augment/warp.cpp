#include "ridgeline/image/augment/warp.h"

#include <algorithm>
#include <vector>

#include "ridgeline/image/augment/warp_sample.h"
#include "ridgeline/image/pixel_rows.h"

namespace ridgeline::image {
namespace {

// Pillow's check_fixed: 16.16 fixed point holds this result position's source.
bool fits_fixed(const AffineMatrix& m, double x, double y) {
  return std::fabs(x * m.a + y * m.b + m.c) < 32768.0 && std::fabs(x * m.d + y * m.e + m.f) < 32768.0;
}

// The low 32 bits: sums wrap, as they may for pixels that fits_fixed() does not look at.
std::uint32_t to_fixed(double v) {
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(std::floor(v * 65536.0 + 0.5)));
}

template <int Channels>
void put(const std::uint8_t* pixel, std::uint8_t* out) {
  for (int c = 0; c < Channels; ++c) out[c] = pixel[c];
}

// Pillow's ImagingScaleAffine: an axis-aligned map, positions added up.
template <int Channels>
void scale_nearest(const ImageView& in, const AffineMatrix& m, Size size, std::uint8_t* out) {
  std::vector<int> column(static_cast<std::size_t>(size.width));
  double x_in = m.c + m.a * 0.5;
  for (int& x : column) x = whole_coordinate(x_in, in.width), x_in += m.a;
  double y_in = m.f + m.e * 0.5;
  for (int y = 0; y < size.height; ++y, y_in += m.e) {
    const int row = whole_coordinate(y_in, in.height);
    for (const int x : column) {
      if (row >= 0 && x >= 0) put<Channels>(in.pixel(row, x), out);
      out += Channels;
    }
  }
}

// Pillow's affine_fixed.
template <int Channels>
void affine_fixed(const ImageView& in, const AffineMatrix& m, Size size, std::uint8_t* out) {
  const std::uint32_t a = to_fixed(m.a), b = to_fixed(m.b), d = to_fixed(m.d), e = to_fixed(m.e);
  std::uint32_t row_x = to_fixed(m.c + m.a * 0.5 + m.b * 0.5), row_y = to_fixed(m.f + m.d * 0.5 + m.e * 0.5);
  for (int y = 0; y < size.height; ++y, row_x += b, row_y += e) {
    std::uint32_t xx = row_x, yy = row_y;
    for (int x = 0; x < size.width; ++x, xx += a, yy += d, out += Channels) {
      const int x_in = static_cast<std::int32_t>(xx) >> 16, y_in = static_cast<std::int32_t>(yy) >> 16;
      if (x_in >= 0 && x_in < in.width && y_in >= 0 && y_in < in.height) put<Channels>(in.pixel(y_in, x_in), out);
    }
  }
}

// The same in double, for coordinates beyond fixed point.
template <int Channels>
void affine_added(const ImageView& in, const AffineMatrix& m, Size size, std::uint8_t* out) {
  double row_x = m.c + m.b * 0.5 + m.a * 0.5, row_y = m.f + m.e * 0.5 + m.d * 0.5;
  for (int y = 0; y < size.height; ++y, row_x += m.b, row_y += m.e) {
    double xx = row_x, yy = row_y;
    for (int x = 0; x < size.width; ++x, xx += m.a, yy += m.d, out += Channels) {
      const int x_in = whole_coordinate(xx, in.width), y_in = whole_coordinate(yy, in.height);
      if (x_in >= 0 && y_in >= 0) put<Channels>(in.pixel(y_in, x_in), out);
    }
  }
}

template <int Channels>
void affine_nearest(const ImageView& in, const AffineMatrix& m, Size size, std::uint8_t* out) {
  if (m.b == 0 && m.d == 0) return scale_nearest<Channels>(in, m, size, out);
  const double w = size.width, h = size.height;
  if (fits_fixed(m, 0, 0) && fits_fixed(m, w, h) && fits_fixed(m, 0, h) && fits_fixed(m, w, 0)) {
    return affine_fixed<Channels>(in, m, size, out);
  }
  affine_added<Channels>(in, m, size, out);
}

// Pillow's ImagingGenericTransform: `source` maps the centre of a result pixel.
template <int Channels, class Source>
void warp_general(const ImageView& in, Sampling sampling, Size size, std::uint8_t* out, Source source) {
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x, out += Channels) {
      const auto [x_in, y_in] = source(x + 0.5, y + 0.5);
      switch (sampling) {
        case Sampling::nearest: sample_nearest<Channels>(in, x_in, y_in, out); break;
        case Sampling::bilinear: sample_bilinear<Channels>(in, x_in, y_in, out); break;
        case Sampling::bicubic: sample_bicubic<Channels>(in, x_in, y_in, out); break;
      }
    }
  }
}

void check_warp(const char* op, const ImageView& in, Size size) {
  check_pixels(op, in);
  if (size.height < 1 || size.width < 1) {
    throw Error(std::string("[") + op + "] a result of " + std::to_string(size.height) + "x" +
                std::to_string(size.width) + " has no pixels");
  }
}

void fill_pixels(Size size, int channels, Colour fill, std::uint8_t* out) {
  const std::size_t pixels = static_cast<std::size_t>(size.height) * static_cast<std::size_t>(size.width);
  if (channels == 1) {
    std::memset(out, fill[0], pixels);
  } else {
    for (std::size_t i = 0; i < pixels; ++i, out += 3) std::copy(fill.begin(), fill.end(), out);
  }
}

}  // namespace

void warp_affine(const ImageView& in, const AffineMatrix& m, Sampling sampling, Colour fill, Size size,
                 std::uint8_t* out) {
  check_warp("affine", in, size);
  for (const double v : {m.a, m.b, m.c, m.d, m.e, m.f}) check_finite("affine", "the matrix", v);
  RIDGELINE_CHECK(in.data != out, "a warp is not done in place");
  fill_pixels(size, in.channels, fill, out);
  if (sampling == Sampling::nearest) {
    return in.channels == 3 ? affine_nearest<3>(in, m, size, out) : affine_nearest<1>(in, m, size, out);
  }
  const auto source = [&m](double x, double y) { return std::pair(m.a * x + m.b * y + m.c, m.d * x + m.e * y + m.f); };
  in.channels == 3 ? warp_general<3>(in, sampling, size, out, source)
                   : warp_general<1>(in, sampling, size, out, source);
}

void affine(const ImageView& in, const AffineRule& rule, Sampling sampling, Colour fill, std::uint8_t* out) {
  const Size size{in.height, in.width};
  warp_affine(in, affine_matrix(rule, size), sampling, fill, size, out);
}

void perspective(const ImageView& in, const PerspectiveCoefficients& k, Sampling sampling, Colour fill,
                 std::uint8_t* out) {
  const Size size{in.height, in.width};
  check_warp("perspective", in, size);
  for (const double v : k) check_finite("perspective", "the coefficients", v);
  RIDGELINE_CHECK(in.data != out, "a warp is not done in place");
  fill_pixels(size, in.channels, fill, out);
  const auto source = [&k](double x, double y) {
    const double below = k[6] * x + k[7] * y + 1;
    return std::pair((k[0] * x + k[1] * y + k[2]) / below, (k[3] * x + k[4] * y + k[5]) / below);
  };
  in.channels == 3 ? warp_general<3>(in, sampling, size, out, source)
                   : warp_general<1>(in, sampling, size, out, source);
}

}  // namespace ridgeline::image
