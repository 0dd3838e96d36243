// ridgeline/data/runtime/iterator.h
//
// The consumer's end of a dataset. Owns the compiled pipeline and its batch slots; uses the worker pool it is given or
// owns one. One thread calls next(); destruction from any state stops the workers within a second.
//
//   data::Iterator it(train, {.epochs = data::kForever});
//   while (auto batch = it.next()) step(batch->image(), batch->label(), batch->mask());
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/core/log.h"
#include "ridgeline/core/trace.h"
#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/runtime/allocator.h"
#include "ridgeline/data/runtime/bad_samples.h"
#include "ridgeline/data/runtime/batch.h"
#include "ridgeline/data/runtime/state.h"
#include "ridgeline/data/runtime/stats.h"

namespace ridgeline::data {

class WorkerPool;  // runtime/worker_pool.h

struct IteratorOptions {
  int workers = 0;                         // 0: the graph's hint, else one per core
  std::int64_t memory_limit = 0;           // bytes of all batch slots; 0: the graph's hint, else 512 MiB or six batches
  std::int64_t slots = 0;                  // most batches prepared or lent at one time; 0: the graph's hint, else 8
  std::int64_t epochs = 1;                 // passes over the dataset; kForever never ends
  std::optional<std::uint64_t> seed = {};  // instead of the graph's
  std::optional<IteratorState> start = {};  // continue from here; an Error if it belongs to another graph, seed or data
  // Where the data graph ends and the step begins: true gives u8 images, cropped and resized, plus a column "flip", and
  // leaves the trailing flip and Normalize to the consumer (see image_tail()); false runs them in the workers. Same
  // bits.
  bool raw_images = false;
  // Batches of one size, as a compiled step needs them: a last one that is not full is filled with rows of zeros, and a
  // skipped bad sample leaves such a row; only column "mask" marks both. false: a batch holds nothing but samples, so
  // it may be shorter.
  bool pad_last = true;
  bool pull = false;                              // no threads: next() does the work itself (the reference in tests)
  std::vector<std::string> disabled_passes = {};  // by name, see pass/passes.h
  BadSampleOptions bad_samples = {};              // what happens with a sample that cannot be made
  // Bytes for the indices of JPEGs that are decoded more than once, about 2 KB each; 0: none; -1: a sixteenth of the
  // memory that this process may use. Allocated only as indices are made.
  std::int64_t jpeg_index_memory = -1;
  // The folder in which these indices are kept for later runs over the same files. Absent: `jpeg` in the user's cache
  // folder (core/user_cache.h), in runs of several epochs with at least 1 MiB of new indices. "": none are kept or
  // read.
  std::optional<std::string> jpeg_index_directory = {};
  std::int64_t jpeg_index_disk = std::int64_t{4} << 30;  // limit of all index files in that folder, in bytes
  bool autotune = false;                                 // as few workers as the consumer needs; cannot change results
  BatchAllocator* allocator = nullptr;  // memory of the slots; null: 64-byte aligned host memory. Must outlive batches
  std::shared_ptr<WorkerPool> pool = {};  // shared by several iterators; null: one of its own with `workers` threads
  Trace* trace = nullptr;
  Log* log = nullptr;  // component "data"
};

class Iterator {
 public:
  explicit Iterator(const Dataset& dataset, IteratorOptions options = {});
  ~Iterator();
  Iterator(Iterator&&) noexcept;
  Iterator& operator=(Iterator&&) noexcept;

  // The next batch; nullopt after the last one. Order and contents do not depend on the workers.
  // Throws the Error of a bad record when the batch of that record is due, and again at every later call.
  std::optional<Batch> next();
  // Whether next() would return at once (with a batch, at the end, or with an Error); waits for that up to `limit`. For
  // a consumer that also waits for other events. In pull mode next() does the work itself: true.
  bool wait_for(std::chrono::milliseconds limit) const;

  // After the batches that next() has returned so far.
  IteratorState state() const;
  // Writes / reads the state as a small JSON file. restore() discards what is prepared and goes on from there.
  void save(const std::string& path) const;
  void restore(const std::string& path);
  void restore(const IteratorState& state);

  const Schema& columns() const;           // of a batch, with "mask" and, for raw images, "flip"
  std::int64_t batches_per_epoch() const;  // kForever if endless, kUnknown below a filter or a bucket
  ImageTail image_tail() const;            // what raw_images leaves to the consumer
  int workers() const;                     // threads in use; 0 in pull mode
  std::int64_t slots() const;              // batches that can be in preparation or lent at one time
  std::int64_t slot_bytes() const;
  std::int64_t bad_samples() const;  // met so far, among what next() has returned
  RunStats stats() const;

 private:
  friend class DeviceQueue;  // whose batches are released by other threads than the one that calls next()
  bool has_room() const;     // whether a slot is not lent
  void wait_for_room();      // also returns at stop()
  void stop();               // permanently: a waiting next() ends
  struct State;
  std::unique_ptr<State> state_;
};

// One sample without a run: sample `index` in the order of epoch `epoch`, exactly as a run delivers it.
struct Sample {
  std::vector<NamedTensor> columns;  // without the batch extent
  std::uint64_t record = 0;          // of the source
  std::string origin;                // "train-00000-of-00008: record 12 at byte 25310"
  const Tensor& column(std::string_view name) const;
};
// For many samples of one dataset there is Replayer (runtime/replayer.h).
Sample replay(const Dataset& dataset, std::uint64_t epoch, std::uint64_t index, IteratorOptions options = {});

}  // namespace ridgeline::data
