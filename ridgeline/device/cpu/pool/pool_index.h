// ridgeline/device/cpu/pool/pool_index.h
//
// The index operand of max_pool_bwd, looked at before a kernel trusts it: it may come from a file or another program,
// and the kernel library writes where it points.
#pragma once

#include <cstdint>

#include "ridgeline/device/cpu/pool/pool_geometry.h"

namespace ridgeline::device {

// An Error where an element of the index, u8[N,OH,OW,C], names no pixel of the image in its window. Uses the compute
// team; chooses no vector code by itself (own_name does).
void check_pool_index(const PoolGeometry& geometry, const std::uint8_t* index);
// Of rows [first, last) of the N*OH rows, by the calling thread.
void check_pool_index(const PoolGeometry& geometry, const std::uint8_t* index, std::int64_t first, std::int64_t last);

}  // namespace ridgeline::device
