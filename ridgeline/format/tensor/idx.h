// ridgeline/format/tensor/idx.h
//
// idx files, the format of MNIST: magic {0, 0, type, rank}, big-endian extents, big-endian values; plain or gzip.
#pragma once

#include <string>

#include "ridgeline/core/tensor.h"

namespace ridgeline {

// u8, i32, f32 and f64 keep their type; signed bytes and 16-bit integers, for which we have no type, are widened to
// i32. A wrong magic, truncation or trailing bytes is an Error "[idx] FILE: ... at byte N" (of the inflated content).
Tensor read_idx(const std::string& path);

}  // namespace ridgeline
