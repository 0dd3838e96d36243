// ridgeline/device/conversion_kernel.h
//
// The kernel that compilation inserts where a value is needed in another layout than it has. One operand, one result of
// the same type.
#pragma once

#include "ridgeline/device/kernel.h"

namespace ridgeline {

// Converts a value of this type. Equal layouts give a copy. Directly if the layouts can, else through a plain copy in
// scratch memory.
std::unique_ptr<Kernel> make_conversion_kernel(const ValueType& type, const Layout& from, const Layout& to);

// The kernel that changes the element type and the layout at once, or null if the layouts have none: then convert
// through plain rows, with a cast between.
std::unique_ptr<Kernel> make_cast_conversion(DType from_type, const Layout& from, DType to_type, const Layout& to);

}  // namespace ridgeline
