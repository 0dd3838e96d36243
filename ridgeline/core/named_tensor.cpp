#include "ridgeline/core/named_tensor.h"

#include <cstring>

namespace ridgeline {

bool operator==(const NamedTensor& a, const NamedTensor& b) {
  if (a.name != b.name || a.tensor.dtype() != b.tensor.dtype() || a.tensor.shape() != b.tensor.shape()) return false;
  if (a.tensor.dtype() == DType::bytes) return a.tensor.string_values() == b.tensor.string_values();
  return a.tensor.byte_size() == 0 || std::memcmp(a.tensor.raw(), b.tensor.raw(), a.tensor.byte_size()) == 0;
}

}  // namespace ridgeline
