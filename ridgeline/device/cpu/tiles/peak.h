// ridgeline/device/cpu/tiles/peak.h
//
// The limit of the tile kernels, measured: products of random tiles from the first cache, on all threads of the compute
// team. Only where the instruction set in force has these tiles.
#pragma once

#include "ridgeline/device/cpu/tiles/tiles.h"

namespace ridgeline::device::tiles {

// GFLOP/s of the team; the best of several short runs (about 0.1 s in all).
double measure_tile_peak(Tiles tiles);

}  // namespace ridgeline::device::tiles
