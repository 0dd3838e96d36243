// ridgeline/data/runtime/batch.h
//
// One prepared batch, lent to the consumer: named columns over memory that the runtime owns and reuses. The memory is
// valid until the Batch is destroyed (or moved from); then the slot goes back to the workers. Move-only; may be used
// and destroyed on any one thread, also after its Iterator is gone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/data/ir/column.h"
#include "ridgeline/data/runtime/state.h"

namespace ridgeline::data {

class BatchLease;  // runtime/slots.h

class Batch {
 public:
  explicit Batch(std::unique_ptr<BatchLease> lease);
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;

  const Schema& columns() const;
  bool has(std::string_view name) const;
  // A view, no copy: clone() it to keep it. An unknown name is an Error that lists the columns.
  const Tensor& column(std::string_view name) const;

  // u8 NHWC (raw images, with column "flip") or f32 NHWC (normalised).
  const Tensor& image() const { return column(kImageColumn); }
  const Tensor& label() const { return column(kLabelColumn); }  // i32 [N]
  const Tensor& flip() const { return column(kFlipColumn); }    // u8 [N]: mirror this image; only with raw images
  // u8 [N]: 1 for a real row, 0 for padding of the last batch. All 1 without IteratorOptions::pad_last.
  const Tensor& mask() const { return column(kMaskColumn); }

  std::int64_t rows() const;  // batch size, padding included
  // Rows that belong to samples; they come first. Skipped bad samples have mask 0.
  std::int64_t samples() const;
  std::uint64_t epoch() const;
  std::uint64_t index() const;  // of this batch in its epoch
  bool last_of_epoch() const;
  // Source record of each of them.
  const std::vector<std::uint64_t>& records() const;
  // The state of a consumer that has finished this batch.
  IteratorState state_after() const;

 private:
  std::unique_ptr<BatchLease> lease_;
};

}  // namespace ridgeline::data
