// ridgeline/graph/op/concat.h
//
// Joins values along an axis, and splits one along an axis.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// concat, split.
std::vector<OpDef> concat_ops();

}  // namespace ridgeline
