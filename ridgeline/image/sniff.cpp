#include "ridgeline/image/sniff.h"

#include <algorithm>
#include <string>

#include "ridgeline/core/error.h"

namespace ridgeline::image {
namespace {

using Bytes = std::span<const std::uint8_t>;

bool starts_with(Bytes bytes, std::string_view magic, std::size_t at = 0) {
  if (bytes.size() < at + magic.size()) return false;
  return std::equal(magic.begin(), magic.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

std::uint32_t big_endian(Bytes bytes, std::size_t at, int count) {
  std::uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | bytes[at + static_cast<std::size_t>(i)];
  return value;
}

[[noreturn]] void cut_short(std::string_view format) {
  throw Error("[" + std::string(format) + "] the file ends inside its header");
}

// Walks the marker segments up to the frame header (ITU-T T.81, B.1.1.3: SOF0..15 without DHT, JPG and DAC).
Header jpeg_header(Bytes bytes) {
  std::size_t at = 2;
  while (true) {
    while (at < bytes.size() && bytes[at] != 0xff) ++at;  // libjpeg skips garbage between segments too
    while (at < bytes.size() && bytes[at] == 0xff) ++at;
    if (at >= bytes.size()) cut_short("jpeg");
    const std::uint8_t marker = bytes[at++];
    if (marker == 0x00 || marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8)) continue;  // no segment follows
    if (marker == 0xd9 || marker == 0xda) throw Error("[jpeg] no frame header before the image data");
    if (at + 2 > bytes.size()) cut_short("jpeg");
    const std::size_t length = big_endian(bytes, at, 2);
    const bool frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (frame) {
      if (at + 8 > bytes.size()) cut_short("jpeg");
      Header header{Format::jpeg, static_cast<int>(big_endian(bytes, at + 3, 2)),
                    static_cast<int>(big_endian(bytes, at + 5, 2)), bytes[at + 7]};
      if (header.height == 0 || header.width == 0 || header.components == 0) {
        throw Error("[jpeg] Empty JPEG image (DNL not supported)");  // libjpeg's words
      }
      return header;
    }
    at += std::max<std::size_t>(length, 2);  // libjpeg takes less for an empty segment where it reads none of it
  }
}

Header png_header(Bytes bytes) {
  if (bytes.size() < 33) cut_short("png");
  if (!starts_with(bytes, "IHDR", 12)) throw Error("[png] no IHDR chunk at the start");
  const std::uint32_t width = big_endian(bytes, 16, 4), height = big_endian(bytes, 20, 4);
  if (width == 0 || height == 0 || width > 0x7fffffffu || height > 0x7fffffffu) {
    throw Error("[png] impossible size " + std::to_string(width) + "x" + std::to_string(height));
  }
  constexpr int kComponents[] = {1, 0, 3, 1, 2, 0, 4};  // by colour type
  const std::uint8_t type = bytes[25];
  if (type > 6 || kComponents[type] == 0) throw Error("[png] unknown colour type " + std::to_string(type));
  return {Format::png, static_cast<int>(height), static_cast<int>(width), kComponents[type]};
}

}  // namespace

Sniffed sniff(Bytes bytes) {
  using namespace std::string_view_literals;
  if (bytes.empty()) return {Format::other, "empty file"};
  if (starts_with(bytes, "\xff\xd8\xff"sv)) return {Format::jpeg, "JPEG"};
  if (starts_with(bytes, "\x89PNG\r\n\x1a\n"sv)) return {Format::png, "PNG"};
  if (starts_with(bytes, "GIF8"sv)) return {Format::other, "GIF"};
  if (starts_with(bytes, "RIFF"sv) && starts_with(bytes, "WEBP"sv, 8)) return {Format::other, "WebP"};
  if (starts_with(bytes, "BM"sv)) return {Format::other, "BMP"};
  if (starts_with(bytes, "II*\0"sv) || starts_with(bytes, "MM\0*"sv)) return {Format::other, "TIFF"};
  if (starts_with(bytes, "\0\0\0\x0cjP  "sv) || starts_with(bytes, "\xff\x4f\xff\x51"sv)) {
    return {Format::other, "JPEG 2000"};
  }
  if (starts_with(bytes, "ftypavif"sv, 4)) return {Format::other, "AVIF"};
  if (starts_with(bytes, "ftyp"sv, 4)) return {Format::other, "HEIF or MP4"};
  if (starts_with(bytes, "\xff\x0a"sv) || starts_with(bytes, "\0\0\0\x0cJXL "sv)) return {Format::other, "JPEG XL"};
  if (bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '7' && bytes[2] <= ' ') {
    return {Format::other, "PNM (PGM, PPM or PBM)"};
  }
  if (starts_with(bytes, "\x1f\x8b"sv)) return {Format::other, "gzip"};
  if (starts_with(bytes, "<svg"sv) || starts_with(bytes, "<?xml"sv)) return {Format::other, "SVG or XML"};
  if (starts_with(bytes, "<!DOCTYPE"sv) || starts_with(bytes, "<html"sv)) return {Format::other, "HTML"};
  if (starts_with(bytes, "%PDF"sv)) return {Format::other, "PDF"};
  return {};
}

Header read_header(Bytes bytes) {
  const Sniffed found = sniff(bytes);
  switch (found.format) {
    case Format::jpeg: return jpeg_header(bytes);
    case Format::png: return png_header(bytes);
    case Format::other: break;
  }
  throw Error("[decode] not a JPEG or PNG: " + std::string(found.name));
}

}  // namespace ridgeline::image
