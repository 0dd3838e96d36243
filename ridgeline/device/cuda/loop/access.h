// ridgeline/device/cuda/loop/access.h
//
// How a loop reads each operand, from shapes and types.
#pragma once

#include "ridgeline/device/cuda/loop/text.h"

namespace ridgeline::cuda {

bool reads_operand(const loop::Expression& expression, int index);

// `each`: elements of a group.
LoopAccess loop_access(const loop::Expression& expression, int index, const ValueType& operand, const Shape& shape,
                       int each, int tensors);

}  // namespace ridgeline::cuda
