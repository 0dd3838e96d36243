#include "ridgeline/image/augment/enhance.h"

#include "ridgeline/image/augment/colour_rows.h"
#include "ridgeline/image/augment/table_rows.h"
#include "ridgeline/image/pixel_rows.h"

namespace ridgeline::image {
namespace {

float checked_factor(const char* op, const ImageView& in, double factor) {
  check_pixels(op, in);
  check_finite(op, "factor", factor);
  return static_cast<float>(factor);
}

int mean_luma(const ImageView& in) {
  std::uint64_t sum = 0;
  for (int y = 0; y < in.height; ++y) {
    const std::uint8_t* row = in.row(y);
    if (in.channels == 3)
      sum += luma_sum(row, static_cast<std::size_t>(in.width));
    else
      for (int x = 0; x < in.width; ++x) sum += row[x];
  }
  return static_cast<int>(std::floor(static_cast<double>(sum) / (static_cast<double>(in.height) * in.width) + 0.5));
}

void blend_with_constant(const ImageView& in, int constant, float factor, std::uint8_t* out) {
  if (looks_up_vectors()) {  // then the blends of all 256 values are fewer than the image's
    ByteTable table = table_of([](int v) { return v; });
    blend_row(constant, factor, table.data(), table.size(), table.data());
    return apply_table(in, table, out);
  }
  const std::size_t bytes = row_bytes(in);
  for (int y = 0; y < in.height; ++y, out += bytes) blend_row(constant, factor, in.row(y), bytes, out);
}

}  // namespace

void adjust_brightness(const ImageView& in, double factor, std::uint8_t* out) {
  blend_with_constant(in, 0, checked_factor("adjust_brightness", in, factor), out);
}

void adjust_contrast(const ImageView& in, double factor, std::uint8_t* out) {
  const float f = checked_factor("adjust_contrast", in, factor);
  blend_with_constant(in, mean_luma(in), f, out);
}

void adjust_saturation(const ImageView& in, double factor, std::uint8_t* out) {
  const float f = checked_factor("adjust_saturation", in, factor);
  if (in.channels == 1) return copy_pixels(in, out);
  const std::size_t bytes = row_bytes(in);
  for (int y = 0; y < in.height; ++y, out += bytes) {
    blend_with_luma_row(f, in.row(y), static_cast<std::size_t>(in.width), out);
  }
}

void adjust_sharpness(const ImageView& in, double factor, std::uint8_t* out) {
  const float f = checked_factor("adjust_sharpness", in, factor);
  RIDGELINE_CHECK(in.data != out, "adjust_sharpness reads neighbours: not in place");
  copy_pixels(in, out);
  if (in.height < 3 || in.width < 3) return;
  const std::size_t bytes = row_bytes(in), step = static_cast<std::size_t>(in.channels);
  for (int y = 1; y + 1 < in.height; ++y) {
    // Pillow sums in float and rounds; a thirteenth is never halfway, so integers give the same.
    sharpen_row(f, in.row(y - 1) + step, in.row(y) + step, in.row(y + 1) + step, step, bytes - 2 * step,
                out + static_cast<std::size_t>(y) * bytes + step);
  }
}

}  // namespace ridgeline::image
