// ridgeline/data/runtime/slot_writer.h
//
// Fills a batch slot: where columns are, how a row is written, what happens to bad rows and how rows of different
// shapes become one block. Workers and order are the ring's matter (slots.h). Immutable: many workers write rows of one
// slot at a time.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "ridgeline/data/pass/batch_plan.h"
#include "ridgeline/data/runtime/bad_samples.h"
#include "ridgeline/data/runtime/pipeline.h"
#include "ridgeline/data/sample/batch_step.h"

namespace ridgeline::data {

// One batch in preparation, ready, or lent. Fields are guarded by SlotRing's mutex unless said otherwise.
struct Slot {
  enum class State { free, opening, filling, ready, lent } state = State::free;
  std::uint64_t sequence = 0;  // of this run
  std::uint64_t epoch = 0, index = 0;
  bool last_of_epoch = false;
  std::int64_t capacity = 0;           // rows of this batch, padding included
  std::vector<RowAddress> samples;     // constant while filling
  std::vector<std::uint64_t> records;  // of the samples that are in the batch
  std::size_t claimed = 0;             // rows handed out
  std::size_t done = 0;                // rows finished
  std::size_t error_row = 0;
  std::exception_ptr error;  // of the lowest row that failed
  std::vector<BadSample> bad;

  void* memory = nullptr;
  std::vector<Tensor> columns;  // views of `memory`; each worker writes its own rows
  // Of padded columns: one value for each row, with its extents, and the batch made of them.
  struct Value {
    std::vector<std::uint8_t> bytes;
    std::vector<std::int64_t> dims;
  };
  std::vector<std::vector<Value>> values;
  std::vector<std::vector<std::uint8_t>> gathered;
};

class SlotWriter {
 public:
  // `pipeline` must outlive it.
  SlotWriter(const Pipeline& pipeline, BadSamplePolicy policy, bool pad_last);
  std::size_t slot_bytes() const { return bytes_; }
  std::size_t columns() const { return layout_.size(); }

  // Prepares the slot for batch {slot.epoch, slot.index}; writes no row.
  void open(Slot& slot) const;
  // Prefetches for rows begin to end - 1, if rows are cheap.
  void prefetch(const Slot& slot, std::size_t begin, std::size_t end, Scratch& scratch) const;
  // Writes one row; if it is bad, adds to `bad`. Throws under the policy raise.
  void fill_row(Slot& slot, std::size_t row, Scratch& scratch, std::vector<BadSample>& bad) const;
  // When all rows are written: joins padded columns, runs operations of whole batches and, without pad_last, removes
  // rows that are not samples.
  void finish(Slot& slot) const;

 private:
  void write_row(Slot& slot, std::size_t row, const std::vector<Cell>& cells) const;
  void clear_row(Slot& slot, std::size_t row) const;
  void gather(Slot& slot, std::size_t column) const;
  void shorten(Slot& slot) const;

  const Pipeline& pipeline_;
  BadSamplePolicy policy_;
  bool pad_last_;
  std::vector<SlotColumn> layout_;  // mask is the last column
  std::vector<std::unique_ptr<BatchStep>> batch_steps_;
  std::size_t bytes_ = 0;
  std::size_t padded_limit_ = 0;  // limit of a padded column of a batch, in bytes
};

}  // namespace ridgeline::data
