// bindings/shared/held_batch.h
//
// A batch that another language holds: lent by the iterator, or a copy. A lent batch keeps its slot until the last
// reference is dropped. If many are held, later ones are copies, so that the iterator does not run out of slots. Any
// thread may drop it. After a fork the child can read it but does not return the slot, which belongs to the parent.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/data/runtime/allocator.h"
#include "ridgeline/data/runtime/batch.h"

namespace ridgeline::bindings {

class HeldBatch {
 public:
  // lent: number of batches that are lent now; beyond most_lent this batch is a copy. `memory` (or null) owns the slots
  // and lives as long as one of them is lent.
  HeldBatch(data::Batch batch, std::shared_ptr<std::atomic<int>> lent, int most_lent,
            std::shared_ptr<data::BatchAllocator> memory);
  ~HeldBatch();
  HeldBatch(const HeldBatch&) = delete;
  HeldBatch& operator=(const HeldBatch&) = delete;

  const data::Schema& schema() const { return schema_; }
  // A usage Error that lists the columns if there is none of that name.
  const Tensor& column(const std::string& name) const;
  const Tensor& column(std::size_t index) const { return columns_.at(index); }
  std::int64_t rows() const { return rows_; }
  std::int64_t samples() const { return samples_; }
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t index() const { return index_; }
  bool last_of_epoch() const { return last_of_epoch_; }
  bool copied() const { return !lease_; }
  const std::vector<std::uint64_t>& records() const { return records_; }
  const data::IteratorState& after() const { return after_; }

 private:
  std::shared_ptr<data::BatchAllocator> memory_;  // outlives the lease
  std::optional<data::Batch> lease_;
  std::shared_ptr<std::atomic<int>> lent_;  // of the run
  pid_t process_;
  data::Schema schema_;
  std::vector<Tensor> columns_;
  std::int64_t rows_ = 0, samples_ = 0;
  std::uint64_t epoch_ = 0, index_ = 0;
  bool last_of_epoch_ = false;
  std::vector<std::uint64_t> records_;
  data::IteratorState after_;
};

}  // namespace ridgeline::bindings
