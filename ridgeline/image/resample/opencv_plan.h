// ridgeline/image/resample/opencv_plan.h
//
// Which rule one of OpenCV's filters becomes for given sizes, and which source pixels with which weights make a result
// position. Private to this folder. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "ridgeline/image/image.h"
#include "ridgeline/image/resample/filter.h"

namespace ridgeline::image {

enum class OpencvRule { copy, nearest, linear, cubic, mean, area };
OpencvRule opencv_rule(Filter filter, Size in, Size out);

// For each result position: the first source position (relative to `begin`), the number of taps, and their weights,
// `taps` entries each.
struct OpencvAxis {
  int taps = 1;
  std::vector<int> first, count;
  std::vector<std::int32_t> weight;  // linear, cubic: 11-bit fixed point
  std::vector<float> share;          // area
  int begin = 0, size = 0;           // the range of the source that is read
};
// Result positions begin..end-1 of `out`. `area_grid`: the linear rule on the grid that INTER_AREA uses for it.
OpencvAxis opencv_axis(OpencvRule rule, bool area_grid, int in, int out, int begin, int end);

}  // namespace ridgeline::image
