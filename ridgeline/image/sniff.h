// ridgeline/image/sniff.h
//
// What a file is, by its content and never by its name, and what its header promises, without decoding a pixel.
// Pure functions: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ridgeline/image/image.h"

namespace ridgeline::image {

enum class Format { jpeg, png, other };

struct Sniffed {
  Format format = Format::other;
  // "JPEG", "PNG", "GIF", "WebP", "BMP", "TIFF", "PNM", "JPEG 2000", "empty file", "unknown content", ...
  std::string_view name = "unknown content";
};

Sniffed sniff(std::span<const std::uint8_t> bytes);

// As the header states them. `components` is what the file stores: 1 grey, 3 colour, 4 CMYK or with alpha; a palette
// PNG has 1.
struct Header {
  Format format = Format::other;
  int height = 0;
  int width = 0;
  int components = 0;
  Size size() const { return {height, width}; }
};

// Error "[decode] not a JPEG or PNG: GIF" for other formats, and a named one for a header that is cut short or absurd.
// A valid header says nothing about the pixels behind it.
Header read_header(std::span<const std::uint8_t> bytes);

}  // namespace ridgeline::image
