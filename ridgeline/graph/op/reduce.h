// ridgeline/graph/op/reduce.h
//
// Sum, mean and maximum over axes. No axes means all; keep_dims leaves reduced axes with extent 1.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// reduce_sum, reduce_mean, reduce_max.
std::vector<OpDef> reduce_ops();

// The shape of x after reduction over `axes` (none: all).
Shape reduced_shape(const Shape& x, const std::vector<std::int64_t>& axes, bool keep_dims);

}  // namespace ridgeline
