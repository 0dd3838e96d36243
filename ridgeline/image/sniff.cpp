#include "ridgeline/image/sniff.h"

#include <algorithm>
#include <string>

#include "ridgeline/core/error.h"
#include "ridgeline/core/lfs_pointer.h"
#include "ridgeline/image/bmp/bmp.h"
#include "ridgeline/image/webp/webp.h"

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
                    static_cast<int>(big_endian(bytes, at + 5, 2)), bytes[at + 7], bytes[at + 2]};
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
  return {Format::png, static_cast<int>(height), static_cast<int>(width), kComponents[type], bytes[24]};
}

constexpr std::string_view kLfsPointer = "a Git LFS pointer";

// Brands of ISO media files (ISO/IEC 23008-12 and the AV1 image format) that cameras and phones use for pictures.
std::string_view media_name(Bytes bytes) {
  using namespace std::string_view_literals;
  for (const std::string_view brand : {"avif"sv, "avis"sv}) {
    if (starts_with(bytes, brand, 8)) return "AVIF";
  }
  for (const std::string_view brand :
       {"heic"sv, "heix"sv, "heim"sv, "heis"sv, "hevc"sv, "hevx"sv, "mif1"sv, "msf1"sv}) {
    if (starts_with(bytes, brand, 8)) return "HEIC";
  }
  return "MP4 or another ISO media file";
}

}  // namespace

std::span<const DecodedFormat> decoded_formats() {
  static const std::vector<DecodedFormat> formats{{Format::jpeg, "JPEG", {".jpg", ".jpeg", ".jfif", ".jpe"}},
                                                  {Format::png, "PNG", {".png"}},
                                                  {Format::webp, "WebP", {".webp"}},
                                                  {Format::bmp, "BMP", {".bmp", ".dib"}}};
  return formats;
}

std::string_view name_of(Format format) {
  for (const DecodedFormat& known : decoded_formats()) {
    if (known.format == format) return known.name;
  }
  return "other";
}

Format format_of_ending(std::string_view ending) {
  for (const DecodedFormat& known : decoded_formats()) {
    if (std::find(known.endings.begin(), known.endings.end(), ending) != known.endings.end()) return known.format;
  }
  return Format::other;
}

std::string decoded_format_names() {
  const std::span<const DecodedFormat> formats = decoded_formats();
  std::string names;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (i > 0) names += i + 1 == formats.size() ? " or " : ", ";
    names += formats[i].name;
  }
  return names;
}

Sniffed sniff(Bytes bytes) {
  using namespace std::string_view_literals;
  const auto decoded = [](Format format) { return Sniffed{format, name_of(format)}; };
  if (bytes.empty()) return {Format::other, "empty file"};
  if (starts_with(bytes, "\xff\xd8\xff"sv)) return decoded(Format::jpeg);
  if (starts_with(bytes, "\x89PNG\r\n\x1a\n"sv)) return decoded(Format::png);
  if (starts_with(bytes, "RIFF"sv) && starts_with(bytes, "WEBP"sv, 8)) return decoded(Format::webp);
  if (starts_with(bytes, "BM"sv)) return decoded(Format::bmp);
  if (starts_with(bytes, "GIF8"sv)) return {Format::other, "GIF"};
  for (const std::string_view magic : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv}) {
    if (starts_with(bytes, magic)) return {Format::other, "TIFF"};
  }
  if (starts_with(bytes, "\0\0\0\x0cjP  "sv) || starts_with(bytes, "\xff\x4f\xff\x51"sv)) {
    return {Format::other, "JPEG 2000"};
  }
  if (starts_with(bytes, "ftyp"sv, 4)) return {Format::other, media_name(bytes)};
  if (starts_with(bytes, "\xff\x0a"sv) || starts_with(bytes, "\0\0\0\x0cJXL "sv)) return {Format::other, "JPEG XL"};
  if (bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '7' && bytes[2] <= ' ') {
    return {Format::other, "PNM (PGM, PPM or PBM)"};
  }
  if (starts_with(bytes, "\0\0\1\0"sv)) return {Format::other, "Windows icon"};
  if (starts_with(bytes, "8BPS"sv)) return {Format::other, "Photoshop"};
  if (is_lfs_pointer(bytes)) return {Format::other, kLfsPointer};
  if (starts_with(bytes, "\x1f\x8b"sv)) return {Format::other, "gzip"};
  if (starts_with(bytes, "<svg"sv) || starts_with(bytes, "<?xml"sv)) return {Format::other, "SVG or XML"};
  if (starts_with(bytes, "<!DOCTYPE"sv) || starts_with(bytes, "<!doctype"sv) || starts_with(bytes, "<html"sv)) {
    return {Format::other, "HTML"};
  }
  if (starts_with(bytes, "%PDF"sv)) return {Format::other, "PDF"};
  return {};
}

void refuse_format(const Sniffed& found) {
  if (found.name == kLfsPointer) throw Error("[decode] is a Git LFS pointer, not the picture itself: run git lfs pull");
  throw Error("[decode] not a " + decoded_format_names() + ": " + std::string(found.name));
}

Header read_header(Bytes bytes) {
  const Sniffed found = sniff(bytes);
  switch (found.format) {
    case Format::jpeg: return jpeg_header(bytes);
    case Format::png: return png_header(bytes);
    case Format::webp: return webp_header(bytes);
    case Format::bmp: return bmp_header(bytes);
    case Format::other: break;
  }
  refuse_format(found);
}

Size size_of_picture(Bytes bytes, ExifOrientation orientation) {
  const Size stored = read_header(bytes).size();
  return orientation == ExifOrientation::apply ? upright_size(stored, exif_orientation(bytes)) : stored;
}

}  // namespace ridgeline::image
