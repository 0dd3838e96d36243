// ridgeline/device/cpu/winograd/cut.h
//
// How results are divided into tiles: all of one size, or of two sizes if these need fewer multiplications. A side of
// 13 takes three tiles of 5, which reach over the edge, or one of 5 and two of 4, which do not. Plain values.
#pragma once

#include <vector>

#include "ridgeline/device/cpu/winograd/tiles.h"

namespace ridgeline::device::winograd {

// Square tiles of `large` if there is one size, else rectangles of both sizes; r x r taps.
struct Sizes {
  int large = 0;
  int small = 0;  // equal to `large` if there is one size
  int r = 0;
};

// The regions that cover the results. A side is divided into the tiles that read the fewest pixels, the large ones
// first; a side has one or two runs of equal tiles, so there are up to four regions.
std::vector<Region> cut(const Correlation& shape, Sizes sizes);

}  // namespace ridgeline::device::winograd
