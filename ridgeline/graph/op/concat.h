// ridgeline/graph/op/concat.h
//
// Values side by side along one axis, and a value cut along one.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// concat, split.
std::vector<OpDef> concat_ops();

}  // namespace ridgeline
