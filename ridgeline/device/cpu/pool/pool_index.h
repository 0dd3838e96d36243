// ridgeline/device/cpu/pool/pool_index.h
//
// Checks the index operand of max_pool_bwd before a kernel uses it: it may come from a file or another program, and the
// kernel library writes where it points.
#pragma once

#include <cstdint>

#include "ridgeline/device/cpu/pool/pool_geometry.h"

namespace ridgeline::device {

// An Error if an element of the index, u8[N,OH,OW,C], is not a pixel of the image in its window. Uses the compute team;
// the vector code must have been chosen (own_name).
void check_pool_index(const PoolGeometry& geometry, const std::uint8_t* index);
// The same for rows [first, last) of the N*OH rows, on the calling thread.
void check_pool_index(const PoolGeometry& geometry, const std::uint8_t* index, std::int64_t first, std::int64_t last);

}  // namespace ridgeline::device
