// ridgeline/graph/op/update.h
//
// Updates of optimizers: w' and the next slots from w, its slots, its gradient and the rate, each element by itself.
// Operands in this order: what is updated (w first, then slots), the gradient, scalars, and, with `conditional`, a
// bool[] that says whether the step counts: false keeps everything as it is (a loss scale that overflowed).
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

std::vector<OpDef> update_ops();

}  // namespace ridgeline
