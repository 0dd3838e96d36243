// ridgeline/comm/reduce.h
//
// Element-wise combination of the values of several ranks, in the order that all engines use.
#pragma once

#include <cstdint>
#include <span>

#include "ridgeline/comm/communicator.h"

namespace ridgeline::comm {

// A usage Error for types that cannot be reduced: bytes, boolean, u8 except by max and min (flags, masks; its sums
// would wrap at 256), and means of integers.
void check_reduction(DType type, Reduction how);

// result[i] = sources[0][i] . sources[1][i] . ..., combined in pairs, then pairs of pairs: ((0.1).(2.3)).(4.5) for six.
// f32, bf16 and f16 in f32 (the narrow ones rounded once at the end), f64, i32 and i64 (sums and products wrap) and u8
// in their own type. A mean is scaled in the same pass. `result` may be one of the sources.
void reduce_in_pairs(std::span<const void* const> sources, void* result, std::int64_t count, DType type, Reduction how);

}  // namespace ridgeline::comm
