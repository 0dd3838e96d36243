// ridgeline/device/cpu/winograd/cut.h
//
// How results are cut into tiles: all of one size, or of two sizes where these leave fewer multiplications. A side of
// 13 takes three tiles of 5 and reaches over the edge, or one of 5 and two of 4 and does not. Plain values.
#pragma once

#include <vector>

#include "ridgeline/device/cpu/winograd/tiles.h"

namespace ridgeline::device::winograd {

// Square tiles of `large` where there is one size, else the rectangles of both, of r x r taps.
struct Sizes {
  int large = 0;
  int small = 0;  // the same where there is one size
  int r = 0;
};

// The regions that cover the results. A side is cut into the tiles that read the fewest pixels, the large ones first;
// one that needs only one size has one run of tiles, so there are up to four regions.
std::vector<Region> cut(const Correlation& shape, Sizes sizes);

}  // namespace ridgeline::device::winograd
