#include "support.h"

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <gtest/gtest.h>
#include <jpeglib.h>

namespace ridgeline::image::test {
namespace {

// Throwing through C frames is fine in a test: Debian's libjpeg is compiled with unwind tables on x86-64.
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

std::string sha256_hex(std::string_view bytes) {  // FIPS 180-4
  static constexpr std::array<std::uint32_t, 64> k = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
      0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
      0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
      0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  std::array<std::uint32_t, 8> h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::string text(bytes);
  text += '\x80';
  while (text.size() % 64 != 56) text += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>((std::uint64_t{bytes.size()} * 8) >> shift);
  for (std::size_t at = 0; at < text.size(); at += 64) {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 64; ++i) {
      w[i / 4] = w[i / 4] << 8 | static_cast<std::uint8_t>(text[at + i]);
    }
    for (std::size_t i = 16; i < 64; ++i) {
      const std::uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    auto s = h;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t t1 = s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                               ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
      const std::uint32_t t2 = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
                               ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      s = {t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
    }
    for (std::size_t i = 0; i < 8; ++i) h[i] += s[i];
  }
  std::string hex;
  for (std::uint32_t word : h) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", word);
    hex += digits;
  }
  return hex;
}

std::string pack_a() {
  const char* place = std::getenv("RIDGELINE_TEST_DATA");
  return place ? std::string(place) + "/packA" : "";
}

std::string python_with_pillow() {
  std::vector<std::string> candidates;
  if (const char* named = std::getenv("RIDGELINE_PYTHON")) candidates.emplace_back(named);
  candidates.push_back(std::string(RIDGELINE_SOURCE_DIR) + "/.venv/bin/python");
  candidates.emplace_back("python3");
  for (const std::string& python : candidates) {
    const std::string test = "'" + python + "' -c 'import PIL; assert int(PIL.__version__.split(\".\")[0]) < 13'";
    if (std::system((test + " >/dev/null 2>&1").c_str()) == 0) return python;
  }
  return "";
}

}  // namespace ridgeline::image::test
