// ridgeline/device/cpu/own/pool_index.h
//
// The index operand of max_pool_bwd, looked at before a kernel trusts it: it may come from a file or another program,
// and the kernel library writes where it points.
#pragma once

#include <cstdint>

#include "ridgeline/device/cpu/pool_geometry.h"

namespace ridgeline::device {

// An Error where an element of the index, u8[N,OH,OW,C], names no pixel of the image in its window. Chooses no vector
// code by itself (own_name does).
void check_pool_index(const PoolGeometry& geometry, const std::uint8_t* index);

}  // namespace ridgeline::device
