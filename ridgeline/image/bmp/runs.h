// ridgeline/image/bmp/runs.h
//
// RLE4 and RLE8 of BMP files. Private to this folder.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ridgeline/image/image.h"

namespace ridgeline::image {

// One byte a pixel, in the file's order of rows; pixels that are skipped are 0, and what lies beyond the end of a row
// is dropped. An Error where the runs end before the picture does.
std::vector<std::uint8_t> expand_bmp_runs(std::span<const std::uint8_t> runs, bool four_bits, Size size);

}  // namespace ridgeline::image
