// bindings/c/src/columns.h
//
// A batch as C sees it: the batch itself, and what its column structs point to.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bindings/shared/held_batch.h"

namespace ridgeline::c {

struct HeldColumns {
  explicit HeldColumns(std::shared_ptr<bindings::HeldBatch> held);
  // Place of the column; a usage Error where there is none.
  std::size_t place(const char* name) const;

  std::shared_ptr<bindings::HeldBatch> batch;
  std::vector<std::vector<std::int64_t>> shapes, strides;  // one a column; strides in elements
};

}  // namespace ridgeline::c
