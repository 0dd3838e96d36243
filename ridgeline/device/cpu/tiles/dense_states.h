// ridgeline/device/cpu/tiles/dense_states.h
//
// The f32 states of a dense layer (weights, momentum and so on) in the layout of the fused update: blocks as in
// DenseForm, 32 outputs by 32 inputs, each contiguous. An update then goes through memory in runs of 4 KB, a block's
// gradient never leaves the first-level cache, and rounded copies are already as the other passes read them.
#pragma once

#include "ridgeline/device/cpu/tiles/dense_weights.h"

namespace ridgeline::device::tiles {

// Outputs are padded to whole blocks with zeros, inputs must be whole blocks.
Layout dense_states_layout(const DenseForm& form);
// Whether a layout is that of such states.
bool is_dense_states_layout(const BlockedLayout* layout, const DenseForm& form);

}  // namespace ridgeline::device::tiles
