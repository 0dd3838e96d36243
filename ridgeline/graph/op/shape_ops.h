// ridgeline/graph/op/shape_ops.h
//
// Ops that move elements without changing them: reshape, flatten, unflatten, transpose, broadcast_to.
// Any element type but bytes.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// reshape, flatten, unflatten, transpose, broadcast_to.
std::vector<OpDef> shape_ops();

}  // namespace ridgeline
