#include "ridgeline/image/png.h"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <string>

#include <png.h>

#include "ridgeline/core/error.h"

namespace ridgeline::image {
namespace {

// libpng's state in one direction. As with libjpeg, errors jump; the frames that set the jump own nothing with a
// destructor (see jpeg_error.h).
struct Png {
  png_structp png = nullptr;
  png_infop info = nullptr;
  bool writing = false;
  char message[256] = "";
  const std::uint8_t* data = nullptr;  // reading: what is left
  std::size_t left = 0;
  std::vector<std::uint8_t> written;
  std::unique_ptr<std::uint8_t[]> wide;  // 16-bit grey before it is narrowed
  std::unique_ptr<png_bytep[]> rows;
  Image image;

  explicit Png(bool write) : writing(write) {
    png = write ? png_create_write_struct(PNG_LIBPNG_VER_STRING, this, fail, warn)
                : png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, warn);
    if (png) info = png_create_info_struct(png);
    if (!info) {
      destroy();
      throw Error("[png] libpng cannot start: another version than the one compiled for, or no memory");
    }
  }
  ~Png() { destroy(); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

  void destroy() {
    if (writing) {
      png_destroy_write_struct(&png, &info);
    } else {
      png_destroy_read_struct(&png, &info, nullptr);
    }
  }

  static Png& of(png_structp png) { return *static_cast<Png*>(png_get_error_ptr(png)); }
  [[noreturn]] static void fail(png_structp png, png_const_charp text) {
    std::snprintf(of(png).message, sizeof message, "%s", text);
    png_longjmp(png, 1);
  }
  static void warn(png_structp, png_const_charp) {}
  static void read(png_structp png, png_bytep out, std::size_t count) {
    Png& self = *static_cast<Png*>(png_get_io_ptr(png));
    if (count > self.left) png_error(png, "premature end of PNG file");
    std::memcpy(out, self.data, count);
    self.data += count;
    self.left -= count;
  }

  bool decode(const DecodeLimits& limits);
  bool encode(const ImageView& view);
};

// Pillow's mode I to L: values above 255 saturate. Big-endian samples.
void narrow_grey16(const std::uint8_t* in, std::uint8_t* out, std::size_t pixels) {
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::uint8_t v = in[2 * i] != 0 ? 255 : in[2 * i + 1];
    out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = v;
  }
}

bool Png::decode(const DecodeLimits& limits) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_read_fn(png, this, read);
  png_set_user_limits(png, 0x7fffffff, 0x7fffffff);  // the product is what matters: below
  const std::size_t file_bytes = left;
  png_read_info(png, info);
  const png_uint_32 width = png_get_image_width(png, info), height = png_get_image_height(png, info);
  const int type = png_get_color_type(png, info), depth = png_get_bit_depth(png, info);
  if (static_cast<std::int64_t>(width) * height > limits.max_pixels) {
    std::snprintf(message, sizeof message, "%ux%u pixels are more than the limit of %lld", height, width,
                  static_cast<long long>(limits.max_pixels));
    return false;
  }
  // Deflate packs at most 1032 to 1: a file too short for its header is refused before memory is taken for it.
  if (png_get_rowbytes(png, info) * height / 1040 > file_bytes) png_error(png, "premature end of PNG file");
  const bool grey16 = depth == 16 && type == PNG_COLOR_TYPE_GRAY;
  if (grey16) {
    // kept as it is, narrowed below
  } else {
    if (depth == 16) png_set_strip_16(png);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
    png_set_strip_alpha(png);
    if ((type & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(png);
  }
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  const std::size_t row_bytes = png_get_rowbytes(png, info);
  if (row_bytes != static_cast<std::size_t>(width) * (grey16 ? 2 : 3)) png_error(png, "unexpected pixel layout");
  image.reset(static_cast<int>(height), static_cast<int>(width), 3);
  std::uint8_t* pixels = image.data();
  if (grey16) {
    wide = std::make_unique_for_overwrite<std::uint8_t[]>(row_bytes * height);
    pixels = wide.get();
  }
  rows = std::make_unique_for_overwrite<png_bytep[]>(height);
  for (png_uint_32 y = 0; y < height; ++y) rows[y] = pixels + y * row_bytes;
  png_read_image(png, rows.get());
  png_read_end(png, nullptr);  // a file that is cut after its pixels is cut
  if (grey16) narrow_grey16(pixels, image.data(), static_cast<std::size_t>(width) * height);
  return true;
}

bool Png::encode(const ImageView& view) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_write_fn(
      png, this,
      [](png_structp p, png_bytep bytes, std::size_t count) {
        auto& out = static_cast<Png*>(png_get_io_ptr(p))->written;
        out.insert(out.end(), bytes, bytes + count);
      },
      nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(view.width), static_cast<png_uint_32>(view.height), 8,
               view.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int y = 0; y < view.height; ++y) png_write_row(png, view.row(y));
  png_write_end(png, info);
  return true;
}

}  // namespace

Image decode_png(std::span<const std::uint8_t> bytes, const DecodeLimits& limits) {
  Png reader(false);
  reader.data = bytes.data();
  reader.left = bytes.size();
  if (!reader.decode(limits)) throw Error(std::string("[png] ") + reader.message);
  return std::move(reader.image);
}

std::vector<std::uint8_t> encode_png(const ImageView& image) {
  if (image.channels != 1 && image.channels != 3) {
    throw Error("[png] can encode 1 or 3 channels, not " + std::to_string(image.channels));
  }
  Png writer(true);
  if (!writer.encode(image)) throw Error(std::string("[png] ") + writer.message);
  return std::move(writer.written);
}

}  // namespace ridgeline::image
