#include "ridgeline/device/cpu/winograd/cut.h"

#include <algorithm>

namespace ridgeline::device::winograd {
namespace {

// Tiles of one size along a side.
struct Run {
  int m;
  std::int64_t first;  // result
  std::int64_t tiles;
};

std::int64_t tiles_of(std::int64_t side, int m) { return (side + m - 1) / m; }

std::vector<Run> runs_of(std::int64_t side, Sizes sizes) {
  std::int64_t large = 0, small = 0, least = 0;
  for (std::int64_t n = tiles_of(side, sizes.large); n >= 0; --n) {
    const std::int64_t left = tiles_of(std::max<std::int64_t>(0, side - n * sizes.large), sizes.small);
    const std::int64_t pixels = n * (sizes.large + sizes.r - 1) + left * (sizes.small + sizes.r - 1);
    if (least != 0 && pixels >= least) continue;
    least = pixels, large = n, small = left;
  }
  std::vector<Run> runs;
  if (large > 0) runs.push_back({sizes.large, 0, large});
  if (small > 0) runs.push_back({sizes.small, large * sizes.large, small});
  return runs;
}

}  // namespace

std::vector<Region> cut(const Correlation& shape, Sizes sizes) {
  std::vector<Region> regions;
  for (const Run& down : runs_of(shape.out.height, sizes)) {
    for (const Run& across : runs_of(shape.out.width, sizes)) {
      regions.push_back({{down.m, across.m, sizes.r}, down.first, across.first, down.tiles, across.tiles});
    }
  }
  return regions;
}

}  // namespace ridgeline::device::winograd
