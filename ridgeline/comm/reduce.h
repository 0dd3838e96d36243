// ridgeline/comm/reduce.h
//
// Element-wise combination of the values of several ranks, in the order that all engines keep.
#pragma once

#include <cstdint>
#include <span>

#include "ridgeline/comm/communicator.h"

namespace ridgeline::comm {

// A usage Error for types that are not reduced: bytes, boolean, u8 but for max and min (flags, masks), whose sums would
// wrap at 256, and means of whole numbers.
void check_reduction(DType type, Reduction how);

// result[i] = sources[0][i] . sources[1][i] . ..., combined in pairs, then pairs of pairs: ((0.1).(2.3)).(4.5) for six.
// f32, bf16 and f16 in f32 (the narrow ones rounded once at the end), f64, i32 and i64 (sums and products wrap) and
// u8 in themselves. A mean is scaled while it is at hand: no pass of its own. `result` may be one of the sources.
void reduce_in_pairs(std::span<const void* const> sources, void* result, std::int64_t count, DType type, Reduction how);

}  // namespace ridgeline::comm
