// ridgeline/data/runtime/slots.h
//
// The ring between workers and consumer: batch slots with memory allocated once, filled in place by any number of
// workers, delivered in order, lent out and reused. Limited in bytes, not in batches. Epochs follow each other without
// a pause: the next one's batches are prepared as soon as slots are free.
//
// Owned by the Iterator and by every Batch that is still lent; stop() detaches it from its workers.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "ridgeline/data/runtime/slot_writer.h"
#include "ridgeline/data/runtime/tuner.h"
#include "ridgeline/data/runtime/worker_pool.h"

namespace ridgeline::data {

class SlotRing : public WorkerPool::Client, public std::enable_shared_from_this<SlotRing> {
 public:
  // `pool` null: pull mode. Call start() once it is held by a shared_ptr.
  SlotRing(std::shared_ptr<const Pipeline> pipeline, const IteratorOptions& options, std::shared_ptr<WorkerPool> pool);
  ~SlotRing() override;

  void start();
  // After it no worker uses the ring; lent batches stay valid, a next() on another thread ends. Takes at most the time
  // of one sample.
  void stop();
  // The next slot, now lent; null at the end. Throws the exception of a worker that filled it, and an Error if every
  // slot is lent.
  Slot* next();
  // Whether next() would return at once; waits for that up to `limit`.
  bool wait_for(std::chrono::milliseconds limit);
  bool stopped() const { return stopping_; }
  bool has_room() const;  // whether a slot is not lent
  void wait_for_room();   // until has_room() or stop()
  void release(Slot* slot);
  bool work(int worker) override;

  IteratorState state() const;
  // The state of a consumer that has finished this batch.
  IteratorState state_after(const Slot& slot) const;
  RunStats stats() const;
  const Pipeline& pipeline() const { return *pipeline_; }
  int workers() const { return pool_size_; }
  std::int64_t slots() const { return static_cast<std::int64_t>(slots_.size()); }
  std::int64_t slot_bytes() const { return static_cast<std::int64_t>(writer_.slot_bytes()); }
  std::int64_t bad_samples() const { return account_.count(); }

 private:
  struct Claim {
    Slot* slot = nullptr;
    std::size_t begin = 0, end = 0;
  };
  void allocate(std::int64_t slots);
  void free_slots();
  Claim claim(std::unique_lock<std::mutex>& lock);
  void open_next(Slot& slot, std::unique_lock<std::mutex>& lock);
  bool place(Slot& slot);
  bool help();
  bool all_lent() const;
  void fill(const Claim& claim, Scratch& scratch);
  Slot* ready_slot();  // the one that is due, if it is ready
  template <class Wait>
  auto waiting(Wait&& wait);
  Slot* wait_for_next(std::unique_lock<std::mutex>& lock);

  std::shared_ptr<const Pipeline> pipeline_;
  std::shared_ptr<WorkerPool> pool_;
  int pool_size_ = 0;
  BatchAllocator* allocator_;
  Trace* trace_;
  SlotWriter writer_;
  std::unique_ptr<JpegIndices> indices_;           // null if no record is read twice
  std::atomic<bool> save_due_{false};              // the indices of the first epoch are complete
  bool saved_ = false;                             // or is being saved; used by the worker that opens batches
  std::vector<std::unique_ptr<Scratch>> scratch_;  // one per worker
  std::size_t rows_at_once_ = 1;                   // that a worker claims
  std::vector<Slot> slots_;

  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::condition_variable ready_;  // the slot that the consumer waits for is ready, or one was returned
  std::deque<Slot*> filling_;      // by sequence
  // The next batch to open. One worker at a time opens batches, since the pipeline decides where epochs end.
  bool opening_ = false;
  std::uint64_t next_epoch_ = 0, next_index_ = 0;
  std::uint64_t next_open_ = 0;       // sequence numbers
  std::optional<std::uint64_t> end_;  // one past the last sequence number, once known
  std::int64_t epochs_ = 0;           // of this run; kForever
  std::uint64_t next_deliver_ = 0;
  IteratorState position_;     // after what was delivered
  std::uint64_t wait_ns_ = 0;  // of the consumer
  BadSampleAccount account_;
  Tuner tuner_;
  std::chrono::steady_clock::time_point began_{};
  double idle_before_ = 0;
};

// What a Batch owns: keeps the ring alive as long as one of its batches is lent.
class BatchLease {
 public:
  BatchLease(std::shared_ptr<SlotRing> ring, Slot* slot) : ring_(std::move(ring)), slot_(slot) {}
  ~BatchLease() { ring_->release(slot_); }
  BatchLease(const BatchLease&) = delete;
  BatchLease& operator=(const BatchLease&) = delete;
  const SlotRing& ring() const { return *ring_; }
  const Slot& slot() const { return *slot_; }

 private:
  std::shared_ptr<SlotRing> ring_;
  Slot* slot_;
};

}  // namespace ridgeline::data
