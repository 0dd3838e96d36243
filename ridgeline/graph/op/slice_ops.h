// ridgeline/graph/op/slice_ops.h
//
// Ops that add or leave out elements along the axes: pad, strided_slice and its gradient. Floating types; strided_slice
// takes all numbers.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// pad, strided_slice, strided_slice_bwd.
std::vector<OpDef> slice_ops();

}  // namespace ridgeline
