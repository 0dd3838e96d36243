#include <cstdlib>
#include <string>

#include "ridgeline/core/error.h"
#include "ridgeline/image/jpeg/error.h"
#include "ridgeline/image/jpeg/jpeg.h"

namespace ridgeline::image {
namespace {

struct Encoder {
  jpeg_compress_struct cinfo{};
  JpegErrors errors{};
  unsigned char* buffer = nullptr;
  unsigned long size = 0;

  Encoder() {
    errors.install(reinterpret_cast<j_common_ptr>(&cinfo));
    jpeg_create_compress(&cinfo);
  }
  ~Encoder() {
    jpeg_destroy_compress(&cinfo);
    std::free(buffer);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  bool run(const ImageView& image, int quality, int h, int v);
};

bool Encoder::run(const ImageView& image, int quality, int h, int v) {
  if (setjmp(errors.jump)) return false;
  jpeg_mem_dest(&cinfo, &buffer, &size);
  cinfo.image_width = static_cast<JDIMENSION>(image.width);
  cinfo.image_height = static_cast<JDIMENSION>(image.height);
  cinfo.input_components = image.channels;
  cinfo.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&cinfo);
  jpeg_set_quality(&cinfo, quality, TRUE);
  cinfo.dct_method = JDCT_ISLOW;
  if (image.channels == 3) {
    cinfo.comp_info[0].h_samp_factor = h;
    cinfo.comp_info[0].v_samp_factor = v;
  }
  jpeg_start_compress(&cinfo, TRUE);
  while (cinfo.next_scanline < cinfo.image_height) {
    auto* row = const_cast<JSAMPROW>(image.row(static_cast<int>(cinfo.next_scanline)));
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  return true;
}

}  // namespace

std::vector<std::uint8_t> encode_jpeg(const ImageView& image, int quality, Subsampling subsampling) {
  if (quality < 1 || quality > 100) throw Error("[jpeg] quality must be 1 to 100, not " + std::to_string(quality));
  if (image.channels != 1 && image.channels != 3) {
    throw Error("[jpeg] can encode 1 or 3 channels, not " + std::to_string(image.channels));
  }
  int h = 1, v = 1;
  switch (subsampling) {
    case Subsampling::s444: break;
    case Subsampling::s422: h = 2; break;
    case Subsampling::s420: h = 2, v = 2; break;
    case Subsampling::s440: v = 2; break;
    case Subsampling::s411: h = 4; break;
    case Subsampling::s410: h = 4, v = 2; break;
  }
  Encoder encoder;
  if (!encoder.run(image, quality, h, v)) throw Error(std::string("[jpeg] ") + encoder.errors.message);
  return {encoder.buffer, encoder.buffer + encoder.size};
}

}  // namespace ridgeline::image
