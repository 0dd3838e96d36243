// ridgeline/device/cpu/tiles/kernels.h
//
// Factories of the bf16 kernels on tiles: convolutions and dense layers in all three passes. Signatures as
// KernelEntry::factory; kernel_table.cpp has the order. docs/device-tiles.md has the layouts, errors and measurements.
#pragma once

#include "ridgeline/device/cpu/tiles/tiles.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// Where the instruction set in force is amx.
KernelChoice make_amx_conv2d(const KernelRequest& request);
KernelChoice make_amx_conv2d_bwd_data(const KernelRequest& request);
// Strided first layers.
KernelChoice make_amx_blocks_conv2d(const KernelRequest& request);
// Both with the max_pool behind them.
KernelChoice make_amx_conv2d_max_pool(const KernelRequest& request);
KernelChoice make_amx_blocks_conv2d_max_pool(const KernelRequest& request);
KernelChoice make_amx_conv2d_bwd_weights(const KernelRequest& request);
KernelChoice make_amx_conv2d_max_pool_bwd_data(const KernelRequest& request);
KernelChoice make_amx_conv2d_max_pool_bwd_weights(const KernelRequest& request);
KernelChoice make_amx_dense(const KernelRequest& request);
KernelChoice make_amx_dense_bwd_data(const KernelRequest& request);
KernelChoice make_amx_dense_bwd_weights(const KernelRequest& request);
KernelChoice make_amx_dense_update(const KernelRequest& request);

// The same by dot products, where these are fast and the instruction set in force has no tiles (dots.cpp), and how fast
// they are (KernelEntry::share).
KernelChoice make_dots_conv2d(const KernelRequest& request);
KernelChoice make_dots_conv2d_max_pool(const KernelRequest& request);
KernelChoice make_dots_conv2d_bwd_data(const KernelRequest& request);
KernelChoice make_dots_conv2d_bwd_weights(const KernelRequest& request);
KernelChoice make_dots_conv2d_max_pool_bwd_data(const KernelRequest& request);
KernelChoice make_dots_conv2d_max_pool_bwd_weights(const KernelRequest& request);
double dots_conv2d_share(const KernelRequest& request);
double dots_conv2d_bwd_data_share(const KernelRequest& request);
double dots_conv2d_bwd_weights_share(const KernelRequest& request);
KernelChoice make_dots_dense(const KernelRequest& request);
KernelChoice make_dots_dense_bwd_data(const KernelRequest& request);
KernelChoice make_dots_dense_bwd_weights(const KernelRequest& request);
KernelChoice make_dots_dense_update(const KernelRequest& request);

// f32 values as sums of two bf16 (halves.h).
KernelChoice make_amx_halves_conv2d(const KernelRequest& request);
KernelChoice make_amx_halves_conv2d_bwd_data(const KernelRequest& request);
KernelChoice make_amx_halves_conv2d_bwd_weights(const KernelRequest& request);
KernelChoice make_amx_halves_dense(const KernelRequest& request);
KernelChoice make_amx_halves_dense_bwd_data(const KernelRequest& request);
KernelChoice make_amx_halves_dense_bwd_weights(const KernelRequest& request);

namespace tiles {

// On the tiles that the caller names; scalar ones run on every machine.
KernelChoice make_forward(const KernelRequest& request, Tiles tiles);
KernelChoice make_blocks_forward(const KernelRequest& request, Tiles tiles);
KernelChoice make_pooled_forward(const KernelRequest& request, Tiles tiles);
KernelChoice make_pooled_blocks_forward(const KernelRequest& request, Tiles tiles);
KernelChoice make_backward_data(const KernelRequest& request, Tiles tiles);
KernelChoice make_backward_weights(const KernelRequest& request, Tiles tiles);
KernelChoice make_pooled_backward_data(const KernelRequest& request, Tiles tiles);
KernelChoice make_pooled_backward_weights(const KernelRequest& request, Tiles tiles);
KernelChoice make_halves_forward(const KernelRequest& request, Tiles tiles);
KernelChoice make_halves_backward_data(const KernelRequest& request, Tiles tiles);
KernelChoice make_halves_backward_weights(const KernelRequest& request, Tiles tiles);
KernelChoice make_halves_dense_forward(const KernelRequest& request, Tiles tiles);
KernelChoice make_halves_dense_backward_data(const KernelRequest& request, Tiles tiles);
KernelChoice make_halves_dense_backward_weights(const KernelRequest& request, Tiles tiles);
KernelChoice make_dense_forward(const KernelRequest& request, Tiles tiles);
KernelChoice make_dense_backward_data(const KernelRequest& request, Tiles tiles);
KernelChoice make_dense_backward_weights(const KernelRequest& request, Tiles tiles);
KernelChoice make_dense_update(const KernelRequest& request, Tiles tiles);

}  // namespace tiles
}  // namespace ridgeline::device
