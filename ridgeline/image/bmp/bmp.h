// ridgeline/image/bmp/bmp.h
//
// BMP to RGB as Pillow's convert("RGB") gives it: 1, 4 and 8 bits with a palette, 16, 24 and 32 bits, bottom up and top
// down, RLE4 and RLE8; alpha is dropped. Layouts of bits that Pillow does not know are refused. Pure functions: any
// thread.
#pragma once

#include <cstdint>
#include <span>

#include "ridgeline/image/image.h"
#include "ridgeline/image/jpeg/jpeg.h"
#include "ridgeline/image/sniff.h"

namespace ridgeline::image {

Header bmp_header(std::span<const std::uint8_t> bytes);
Image decode_bmp(std::span<const std::uint8_t> bytes, const DecodeLimits& limits = {});

}  // namespace ridgeline::image
