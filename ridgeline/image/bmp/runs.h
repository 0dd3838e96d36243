// ridgeline/image/bmp/runs.h
//
// RLE4 and RLE8 of BMP files. Private to this folder.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ridgeline/image/image.h"

namespace ridgeline::image {

// One byte a pixel, in the file's order of rows; skipped pixels are 0, and pixels beyond the end of a row are dropped.
// An Error if the runs end before the picture does.
std::vector<std::uint8_t> expand_bmp_runs(std::span<const std::uint8_t> runs, bool four_bits, Size size);

}  // namespace ridgeline::image
