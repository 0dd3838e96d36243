// ridgeline/graph/op/l2_penalty.h
//
// penalty = factor * sum over all operands p of sum(p^2) / 2: weight decay as a term of the loss.
#pragma once

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

OpDef l2_penalty_op();

}  // namespace ridgeline
