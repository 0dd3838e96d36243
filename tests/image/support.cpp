#include "support.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <gtest/gtest.h>
#include <jpeglib.h>

#include "tests/support/paths.h"

namespace ridgeline::image::test {
namespace {

// Throwing through C frames is acceptable in a test: Debian's libjpeg has unwind tables on x86-64.
[[noreturn]] void raise(j_common_ptr common) {
  char text[JMSG_LENGTH_MAX];
  common->err->format_message(common, text);
  throw std::runtime_error(text);
}

void silent(j_common_ptr, int) {}

}  // namespace

Image detailed_image(int height, int width, int channels, std::uint64_t seed) {
  Image image(height, width, channels);
  const PhiloxKey key = philox_key(seed, "tests/detailed_image");
  std::uint8_t* out = image.data();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const std::uint32_t bits = philox_element(key, 0, static_cast<std::uint64_t>((y * width + x) * channels + c));
        int v = (x * 3 + y * (2 + c) + c * 60) & 255;
        if (((x / 11) ^ (y / 7)) & 1) v = 255 - v / 2;
        v += static_cast<int>(bits % 41) - 20;
        if (bits % 97 == 0) v = bits & 128 ? 255 : 0;
        *out++ = static_cast<std::uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v);
      }
    }
  }
  return image;
}

Image flipped_horizontal(const ImageView& image) {
  Image result(image.height, image.width, image.channels);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x)
      std::copy_n(image.pixel(y, image.width - 1 - x), image.channels, result.row(y) + x * image.channels);
  }
  return result;
}

std::string little_endian(std::uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string as_text(std::span<const std::uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }
std::vector<std::uint8_t> as_bytes(const std::string& text) { return {text.begin(), text.end()}; }

Image plain_jpeg(std::span<const std::uint8_t> bytes, bool rgb) {
  jpeg_decompress_struct cinfo{};
  jpeg_error_mgr errors{};
  cinfo.err = jpeg_std_error(&errors);
  errors.error_exit = raise;
  errors.emit_message = silent;
  jpeg_create_decompress(&cinfo);
  Image image;
  try {
    jpeg_mem_src(&cinfo, bytes.data(), bytes.size());
    jpeg_read_header(&cinfo, TRUE);
    if (rgb) cinfo.out_color_space = JCS_RGB;
    jpeg_start_decompress(&cinfo);
    image.reset(static_cast<int>(cinfo.output_height), static_cast<int>(cinfo.output_width), cinfo.output_components);
    while (cinfo.output_scanline < cinfo.output_height) {
      JSAMPROW row = image.row(static_cast<int>(cinfo.output_scanline));
      jpeg_read_scanlines(&cinfo, &row, 1);
    }
  } catch (const std::runtime_error& error) {
    ADD_FAILURE() << "libjpeg: " << error.what();
  }
  jpeg_destroy_decompress(&cinfo);
  return image;
}

std::vector<std::uint8_t> plain_encode(const Image& image, const PlainEncoding& encoding) {
  jpeg_compress_struct cinfo{};
  jpeg_error_mgr errors{};
  cinfo.err = jpeg_std_error(&errors);
  errors.error_exit = raise;
  jpeg_create_compress(&cinfo);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &buffer, &size);
  cinfo.image_width = static_cast<JDIMENSION>(image.width());
  cinfo.image_height = static_cast<JDIMENSION>(image.height());
  cinfo.input_components = image.channels();
  cinfo.in_color_space = image.channels() == 1 ? JCS_GRAYSCALE : image.channels() == 4 ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&cinfo);
  if (image.channels() == 4) jpeg_set_colorspace(&cinfo, encoding.cmyk ? JCS_CMYK : JCS_YCCK);
  jpeg_set_quality(&cinfo, encoding.quality, TRUE);
  cinfo.comp_info[0].h_samp_factor = encoding.h;
  cinfo.comp_info[0].v_samp_factor = encoding.v;
  cinfo.restart_interval = static_cast<unsigned>(encoding.restart);
  cinfo.arith_code = encoding.arithmetic;
  cinfo.optimize_coding = encoding.own_tables;
  std::vector<jpeg_scan_info> scans;
  if (encoding.progressive) jpeg_simple_progression(&cinfo);
  if (encoding.one_scan_each) {
    for (int c = 0; c < cinfo.num_components; ++c) scans.push_back({1, {c, 0, 0, 0}, 0, 63, 0, 0});
    cinfo.scan_info = scans.data();
    cinfo.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&cinfo, TRUE);
  while (cinfo.next_scanline < cinfo.image_height) {
    auto* row = const_cast<JSAMPROW>(image.row(static_cast<int>(cinfo.next_scanline)));
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  std::vector<std::uint8_t> result(buffer, buffer + size);
  std::free(buffer);
  return result;
}

std::string pack_a() {
  const char* place = std::getenv("RIDGELINE_TEST_DATA");
  return place ? std::string(place) + "/packA" : "";
}

std::string python_with_pillow() {
  std::vector<std::string> candidates;
  if (const char* named = std::getenv("RIDGELINE_PYTHON")) candidates.emplace_back(named);
  candidates.push_back(testing::source_directory() + "/.venv/bin/python");
  candidates.emplace_back("python3");
  for (const std::string& python : candidates) {
    const std::string test = "'" + python + "' -c 'import PIL; assert int(PIL.__version__.split(\".\")[0]) < 13'";
    if (std::system((test + " >/dev/null 2>&1").c_str()) == 0) return python;
  }
  return "";
}

}  // namespace ridgeline::image::test
