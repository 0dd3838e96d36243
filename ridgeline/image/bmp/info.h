// ridgeline/image/bmp/info.h
//
// What the headers of a BMP file say of its pixels. Private to this folder.
#pragma once

#include <cstdint>
#include <span>

namespace ridgeline::image {

struct BmpInfo {
  enum class Coding { plain, rle8, rle4 };
  // Positions of red, green and blue in a pixel: byte numbers for 24 and 32 bits, first bits for 16.
  struct Layout {
    int red = 2, green = 1, blue = 0;
    int green_bits = 5;  // of 16
    bool alpha = false;
  };

  int height = 0, width = 0;
  bool top_down = false;
  int bits = 0;  // of a pixel: 1, 4, 8, 16, 24 or 32
  Coding coding = Coding::plain;
  Layout layout;
  std::size_t pixels = 0;                 // where pixels begin in the file
  std::span<const std::uint8_t> palette;  // what the file has of it; for 8 bits and fewer
  int colour_bytes = 4;                   // of a colour of the palette: blue, green, red
  std::size_t colours = 0;                // that the palette should have
};

// The bytes are borrowed. Errors begin with "[bmp] ".
BmpInfo read_bmp_info(std::span<const std::uint8_t> file);

}  // namespace ridgeline::image
