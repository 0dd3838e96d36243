// ridgeline/graph/op/activation.h
//
// Smooth or bounded activations and their gradients: relu6, sigmoid, tanh, silu, gelu. (relu is in pointwise.cpp.) All
// are loop expressions over our own exp, so their bits do not depend on a library.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// relu6, sigmoid, tanh, silu, gelu, and <name>_grad of each.
std::vector<OpDef> activation_ops();

}  // namespace ridgeline
