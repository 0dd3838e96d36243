// ridgeline/device/conversion_kernel.h
//
// The kernel that compilation puts where a value is needed in another layout than the one it has. One operand, one
// result of the same type.
#pragma once

#include "ridgeline/device/kernel.h"

namespace ridgeline {

// Converts a value of this type. Equal layouts give a copy. Directly where the layouts know how, else through a plain
// copy in scratch memory.
std::unique_ptr<Kernel> make_conversion_kernel(const ValueType& type, const Layout& from, const Layout& to);

}  // namespace ridgeline
