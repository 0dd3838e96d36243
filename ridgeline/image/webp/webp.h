// ridgeline/image/webp/webp.h
//
// WebP to RGB by libwebp, as Pillow's convert("RGB") gives it: lossy and lossless, alpha dropped without blending. Of
// an animation the first picture is read, on its canvas. Pure functions: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ridgeline/image/image.h"
#include "ridgeline/image/jpeg/jpeg.h"
#include "ridgeline/image/sniff.h"

namespace ridgeline::image {

Header webp_header(std::span<const std::uint8_t> bytes);
Image decode_webp(std::span<const std::uint8_t> bytes, const DecodeLimits& limits = {});
// The pixels of `box`, which must be inside the image, equal to those of decode_webp. Rows below it are not decoded, and
// faults in them are not noticed; a file that is cut short is an Error.
Image decode_webp_region(std::span<const std::uint8_t> bytes, Box box, const DecodeLimits& limits = {});
// The file's Exif block; empty if it has none or cannot be read.
std::vector<std::uint8_t> webp_exif(std::span<const std::uint8_t> bytes);

}  // namespace ridgeline::image
