// ridgeline/graph/op/pool.h
//
// Maximum and average over windows of the two image axes. x [N,H,W,C], y [N,(H+top+bottom-kernel)/stride+1,...,C],
// sizes rounded down. Padding is narrower than the kernel, so every window holds at least one pixel.
#pragma once

#include <cstdint>
#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// max_pool, max_pool_bwd, avg_pool, avg_pool_bwd.
std::vector<OpDef> pool_ops();

// The Error for an element of max_pool_bwd's index that is outside its window or the image.
[[noreturn]] void fail_pool_index(int index, std::int64_t element);

}  // namespace ridgeline
