// bindings/c/src/columns.h
//
// A batch and the shapes and strides to which its column structs point.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bindings/shared/held_batch.h"

namespace ridgeline::c {

struct HeldColumns {
  explicit HeldColumns(std::shared_ptr<bindings::HeldBatch> held);
  // Index of the column; a usage Error if it does not exist.
  std::size_t place(const char* name) const;

  std::shared_ptr<bindings::HeldBatch> batch;
  std::vector<std::vector<std::int64_t>> shapes, strides;  // one per column; strides in elements
};

}  // namespace ridgeline::c
