#include <csetjmp>
#include <cstdio>
#include <string>

#include <png.h>

#include "ridgeline/core/error.h"
#include "ridgeline/image/png/png.h"

namespace ridgeline::image {
namespace {

// libpng's state for writing. As with libjpeg, errors jump; the frames that set the jump own nothing with a destructor
// (see jpeg/error.h).
struct Writer {
  png_structp png = nullptr;
  png_infop info = nullptr;
  char message[256] = "";
  std::vector<std::uint8_t> written;

  Writer() {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, fail, [](png_structp, png_const_charp) {});
    if (png) info = png_create_info_struct(png);
    if (!info) {
      png_destroy_write_struct(&png, &info);
      throw Error("[png] libpng cannot start: another version than the one compiled for, or no memory");
    }
  }
  ~Writer() { png_destroy_write_struct(&png, &info); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  [[noreturn]] static void fail(png_structp png, png_const_charp text) {
    auto& self = *static_cast<Writer*>(png_get_error_ptr(png));
    std::snprintf(self.message, sizeof message, "%s", text);
    png_longjmp(png, 1);
  }

  bool encode(const ImageView& view);
};

bool Writer::encode(const ImageView& view) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_write_fn(
      png, this,
      [](png_structp p, png_bytep bytes, std::size_t count) {
        auto& out = static_cast<Writer*>(png_get_io_ptr(p))->written;
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

std::vector<std::uint8_t> encode_png(const ImageView& image) {
  if (image.channels != 1 && image.channels != 3) {
    throw Error("[png] can encode 1 or 3 channels, not " + std::to_string(image.channels));
  }
  Writer writer;
  if (!writer.encode(image)) throw Error(std::string("[png] ") + writer.message);
  return std::move(writer.written);
}

}  // namespace ridgeline::image
