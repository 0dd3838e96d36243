#include "ridgeline/data/ir/value.h"

#include <cstring>

namespace ridgeline::data {

bool operator==(const NamedTensor& a, const NamedTensor& b) {
  if (a.name != b.name || a.values.dtype() != b.values.dtype() || a.values.shape() != b.values.shape()) return false;
  if (a.values.dtype() == DType::bytes) return a.values.string_values() == b.values.string_values();
  return a.values.byte_size() == 0 || std::memcmp(a.values.raw(), b.values.raw(), a.values.byte_size()) == 0;
}

}  // namespace ridgeline::data
