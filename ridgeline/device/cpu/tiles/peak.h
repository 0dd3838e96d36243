// ridgeline/device/cpu/tiles/peak.h
//
// Measures the limit of the tile kernels: products of random tiles from the first cache, on all threads of the compute
// team. Only if the active instruction set has these tiles.
#pragma once

#include "ridgeline/device/cpu/tiles/tiles.h"

namespace ridgeline::device::tiles {

// GFLOP/s of the team; the best of several short runs (about 0.1 s in all).
double measure_tile_peak(Tiles tiles);

}  // namespace ridgeline::device::tiles
