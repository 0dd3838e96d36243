// ridgeline/image/exif.h
//
// Finds an image's orientation where each format may keep it, as Pillow 10.4 does; nullopt if there is none. The value
// found may be any number. Private to this folder; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace ridgeline::image {

// The tag 0x0112 in the first directory of an Exif block, with or without its "Exif\0\0".
std::optional<std::int64_t> orientation_in_exif(std::span<const std::uint8_t> exif);

std::optional<std::int64_t> jpeg_orientation(std::span<const std::uint8_t> file);
std::optional<std::int64_t> png_orientation(std::span<const std::uint8_t> file);
std::optional<std::int64_t> webp_orientation(std::span<const std::uint8_t> file);

}  // namespace ridgeline::image
