// ridgeline/graph/ir/gradient_name.h
//
// The names of gradient ops, by which it is known whose gradient they compute.
#pragma once

#include <string>

#include "ridgeline/core/function_ref.h"

namespace ridgeline {

// What the n-th op is called that a gradient adds for the op `forward`: "<forward>/grad", "<forward>/grad_1" and so on.
std::string gradient_name(const std::string& forward, int n);

// The longest name that stands in `name` in front of such an ending and that `known` accepts; "" where there is none.
// An op of a second derivative has two endings.
std::string forward_name(const std::string& name, FunctionRef<bool(const std::string&)> known);

}  // namespace ridgeline
