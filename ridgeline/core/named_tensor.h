// ridgeline/core/named_tensor.h
//
// A tensor under a name: of a file, of a column in memory, of what a program takes and gives. A plain value that shares
// the tensor's memory.
#pragma once

#include <string>

#include "ridgeline/core/tensor.h"

namespace ridgeline {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};
// Equal names, types, shapes and bytes.
bool operator==(const NamedTensor& a, const NamedTensor& b);

}  // namespace ridgeline
