// ridgeline/device/cpu/tiles/on_tiles.h
//
// The kernels of this folder on given tiles; scalar ones run on every machine. table.cpp has those of tile registers
// and of dot products as entries; docs/device-tiles.md has the layouts, errors and measurements.
#pragma once

#include "ridgeline/device/cpu/tiles/tiles.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::device::tiles {

using KernelOnTiles = KernelChoice(const KernelRequest& request, Tiles tiles);

KernelOnTiles make_forward, make_pooled_forward, make_backward_data, make_pooled_backward_data, make_backward_weights,
    make_pooled_backward_weights;
// Strided first layers, alone and with the max_pool after them.
KernelOnTiles make_blocks_forward, make_pooled_blocks_forward;
KernelOnTiles make_dense_forward, make_dense_backward_data, make_dense_backward_weights, make_dense_update;
// f32 values as sums of two bf16 (halves.h).
KernelOnTiles make_halves_forward, make_halves_backward_data, make_halves_backward_weights, make_halves_dense_forward,
    make_halves_dense_backward_data, make_halves_dense_backward_weights;

}  // namespace ridgeline::device::tiles
