// ridgeline/image/sniff.h
//
// A file's format, by its content and never by its name, and what its header says, without decoding a pixel. Pure
// functions: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/image/image.h"
#include "ridgeline/image/orientation.h"

namespace ridgeline::image {

enum class Format { jpeg, png, webp, bmp, other };

// The only list of decoded formats. Readers of folders and archives, and messages, derive theirs from it.
struct DecodedFormat {
  Format format;
  std::string_view name;                  // "JPEG"
  std::vector<std::string_view> endings;  // endings of file names, in lower case: ".jpg", ".jpeg", ...
};
std::span<const DecodedFormat> decoded_formats();
// "JPEG", "PNG", ...; "other" for what is not decoded.
std::string_view name_of(Format format);
// Format::other for an ending that no decoded format has.
Format format_of_ending(std::string_view ending);
// "JPEG, PNG, WebP or BMP".
std::string decoded_format_names();

struct Sniffed {
  Format format = Format::other;
  // "JPEG", "PNG", "GIF", "WebP", "BMP", "TIFF", "PNM", "JPEG 2000", "empty file", "unknown content", ...
  std::string_view name = "unknown content";
};

Sniffed sniff(std::span<const std::uint8_t> bytes);

// As the header states them. `components` is what the file stores: 1 grey, 3 colour, 4 CMYK or with alpha; a palette
// counts as 1.
struct Header {
  Format format = Format::other;
  int height = 0;
  int width = 0;
  int components = 0;
  int depth = 8;          // bits of a component: of 16, pixels keep 8
  bool animated = false;  // WebP: the first picture is read
  Size size() const { return {height, width}; }
};

// The Error for content that is not decoded: "[decode] not a JPEG, PNG, WebP or BMP: GIF".
[[noreturn]] void refuse_format(const Sniffed& found);
// Throws that Error for other formats, and one with the format's name for a header that is cut short or absurd. A valid
// header says nothing about the pixels that follow.
Header read_header(std::span<const std::uint8_t> bytes);
// The picture's size once decoded.
Size size_of_picture(std::span<const std::uint8_t> bytes, ExifOrientation orientation);

}  // namespace ridgeline::image
