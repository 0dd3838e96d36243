// ridgeline/image/png/png.h
//
// PNG to RGB as Pillow's convert("RGB") gives it: palettes are looked up, grey is repeated, alpha and transparent
// colours are dropped without blending, 16 bits keep their upper 8. So does grey of 16 bits, unlike in Pillow, which
// clips its values at 255 and makes nearly all of them white. Damaged files are read or refused as by Pillow 10.4; what
// it reads and we refuse is in docs/image.md. Pure functions: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ridgeline/image/image.h"
#include "ridgeline/image/jpeg/jpeg.h"

namespace ridgeline::image {

Image decode_png(std::span<const std::uint8_t> bytes, const DecodeLimits& limits = {});
// The pixels of `box`, which must be inside the image, equal to those of decode_png, with its errors: the whole file is
// read, and what lies right of the box and below it is not turned into pixels.
Image decode_png_region(std::span<const std::uint8_t> bytes, Box box, const DecodeLimits& limits = {});

// Whole numbers of a pixel each, as a PNG stores them: grey is not scaled, indices of a palette are not looked up.
struct PngValues {
  int height = 0, width = 0;
  int bytes = 1;                     // of a value: 2, in this machine's order, where the file has 16 bits
  std::vector<std::uint8_t> memory;  // rows without gaps
};

// The classes or objects that a mask has for values. Errors are those of decode_png, and that the file has several
// values a pixel (RGB, alpha), or lacks rows.
PngValues decode_png_values(std::span<const std::uint8_t> bytes, const DecodeLimits& limits = {});

// An 8-bit PNG of 1 (grey) or 3 (RGB) channels. For reports and tests.
std::vector<std::uint8_t> encode_png(const ImageView& image);

}  // namespace ridgeline::image
