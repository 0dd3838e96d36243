#include "ridgeline/data/runtime/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "ridgeline/data/ir/analysis.h"

namespace ridgeline::data {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::int64_t kDefaultMemory = std::int64_t{512} << 20;
// More prepared batches than this hide no more: they only touch memory.
constexpr std::int64_t kMostSlots = 8;
// Rows that cost little (no image work) are claimed several at a time, so that the lock is not the work.
constexpr std::size_t kCheapRows = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::int64_t hint(const Pipeline& pipeline, const char* name) {
  const Node* batch = batch_node(pipeline.graph());
  const auto found = batch->hints.find(name);
  return found == batch->hints.end() ? 0 : found->second;
}

class HostAllocator : public BatchAllocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) override {
    return ::operator new(bytes, std::align_val_t(alignment));
  }
  void release(void* memory) override { ::operator delete(memory, std::align_val_t(kAlignment)); }
};

BatchAllocator* host_allocator() {
  static HostAllocator allocator;  // has no state
  return &allocator;
}

}  // namespace

SlotRing::SlotRing(std::shared_ptr<const Pipeline> pipeline, const IteratorOptions& options,
                   std::shared_ptr<WorkerPool> pool)
    : pipeline_(std::move(pipeline)),
      pool_(std::move(pool)),
      allocator_(options.allocator ? options.allocator : host_allocator()),
      trace_(options.trace) {
  pool_size_ = pool_ ? pool_->size() : 0;
  for (int i = 0; i < std::max(1, pool_size_); ++i) scratch_.push_back(std::make_unique<Scratch>());
  bool images = false;
  for (const Node& node : pipeline_->graph().nodes) images |= !node.operations.empty();
  if (!images) chunk_ = kCheapRows;

  const std::int64_t per_epoch = pipeline_->batches_per_epoch();
  if (options.start) {
    first_epoch_ = options.start->epoch;
    first_index_ = options.start->delivered;
  }
  if (per_epoch == kForever || options.epochs == kForever) {
    total_ = kForever;
  } else {
    total_ =
        std::max<std::int64_t>(0, options.epochs * per_epoch - static_cast<std::int64_t>(first_epoch_) * per_epoch -
                                      static_cast<std::int64_t>(first_index_));
  }
  const std::int64_t memory = hint(*pipeline_, "memory_limit");
  try {
    allocate(options.memory_limit > 0 ? options.memory_limit : memory > 0 ? memory : kDefaultMemory);
  } catch (...) {
    free_slots();
    throw;
  }
}

void SlotRing::allocate(std::int64_t memory_limit) {
  const std::size_t rows = static_cast<std::size_t>(pipeline_->batch_size());
  std::vector<std::size_t> offsets;
  for (const Column& column : pipeline_->columns()) {
    offsets.push_back(slot_bytes_);
    const std::size_t bytes = static_cast<std::size_t>(column.shape.elements()) * size_of(column.dtype);
    column_bytes_.push_back(bytes / rows);
    slot_bytes_ += aligned(bytes);
  }
  const std::int64_t fitting = memory_limit / static_cast<std::int64_t>(std::max(slot_bytes_, kAlignment));
  if (fitting < 1) {
    throw Error(fmt::format("[iterator] one batch takes {} bytes, memory_limit is {}: raise it or make batches smaller",
                            slot_bytes_, memory_limit));
  }
  slots_.resize(static_cast<std::size_t>(std::min(fitting, kMostSlots)));
  for (Slot& slot : slots_) {
    slot.memory = allocator_->allocate(std::max(slot_bytes_, kAlignment), kAlignment);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const Column& column = pipeline_->columns()[i];
      if (column.dtype == DType::bytes)
        slot.columns.push_back(Tensor::strings(std::vector<std::string>(rows)));
      else
        slot.columns.push_back(Tensor::view(static_cast<char*>(slot.memory) + offsets[i], column.dtype, column.shape));
    }
  }
}

SlotRing::~SlotRing() { free_slots(); }

void SlotRing::free_slots() {
  for (Slot& slot : slots_) {
    slot.columns.clear();
    if (slot.memory) allocator_->release(slot.memory);
    slot.memory = nullptr;
  }
}

void SlotRing::start() {
  if (!pool_) return;
  idle_before_ = pool_->idle_seconds();
  pool_->add(this);
}

void SlotRing::stop() {
  stopping_ = true;
  if (!pool_) return;
  pool_->remove(this);
  const std::lock_guard lock(mutex_);
  pool_.reset();
}

// ---- workers

SlotRing::Claim SlotRing::claim(std::unique_lock<std::mutex>& lock) {
  while (!stopping_) {
    for (Slot* slot : filling_) {
      if (slot->claimed == slot->samples.size()) continue;
      const std::size_t begin = slot->claimed;
      slot->claimed = std::min(begin + chunk_, slot->samples.size());
      return {slot, begin, slot->claimed};
    }
    if (at_end(next_open_)) return {};
    const auto free =
        std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.state == Slot::State::free; });
    if (free == slots_.end()) return {};
    free->state = Slot::State::opening;
    free->sequence = next_open_++;
    lock.unlock();
    open(*free);  // may build an epoch's permutation
    lock.lock();
    free->state = Slot::State::filling;
    filling_.insert(
        std::find_if(filling_.begin(), filling_.end(), [&](const Slot* s) { return s->sequence > free->sequence; }),
        &*free);
    if (pool_) {
      lock.unlock();
      pool_->wake();  // the others may have gone to sleep while there was nothing to claim
      lock.lock();
    }
  }
  return {};
}

void SlotRing::open(Slot& slot) const {
  const std::uint64_t position = first_index_ + slot.sequence;
  if (pipeline_->batches_per_epoch() == kForever) {
    slot.epoch = first_epoch_;
    slot.index = position;
    slot.last_of_epoch = false;
  } else {
    const auto per_epoch = static_cast<std::uint64_t>(pipeline_->batches_per_epoch());
    slot.epoch = first_epoch_ + position / per_epoch;
    slot.index = position % per_epoch;
    slot.last_of_epoch = slot.index + 1 == per_epoch;
  }
  pipeline_->samples_of(slot.epoch, slot.index, slot.samples);
  slot.records.clear();
  for (const SampleRef& sample : slot.samples) slot.records.push_back(sample.index);
  slot.claimed = slot.done = 0;
  slot.error_row = slot.samples.size();
  slot.error = nullptr;
  pad(slot);
}

// Rows without a sample are zero; mask (the last column) tells them.
void SlotRing::pad(Slot& slot) const {
  const std::size_t real = slot.samples.size(), rows = static_cast<std::size_t>(pipeline_->batch_size());
  for (std::size_t i = 0; i + 1 < slot.columns.size(); ++i) {
    if (slot.columns[i].dtype() == DType::bytes) {
      for (std::size_t row = real; row < rows; ++row) slot.columns[i].string_values()[row].clear();
    } else if (real < rows) {
      std::memset(static_cast<char*>(slot.columns[i].raw()) + real * column_bytes_[i], 0,
                  (rows - real) * column_bytes_[i]);
    }
  }
  auto* mask = slot.columns.back().data<std::uint8_t>();
  std::fill(mask, mask + real, std::uint8_t{1});
  std::fill(mask + real, mask + rows, std::uint8_t{0});
}

void SlotRing::fill(const Claim& claim, Scratch& scratch) {
  const TraceSpan span(trace_, "data", "fill");
  Slot& slot = *claim.slot;
  // The stage knows the columns without mask, in the same order.
  std::vector<void*> row(slot.columns.size() - 1);
  std::size_t failed = slot.samples.size();
  std::exception_ptr error;
  for (std::size_t r = claim.begin; r < claim.end && !stopping_; ++r) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = slot.columns[i].dtype() == DType::bytes
                   ? static_cast<void*>(&slot.columns[i].string_values()[r])
                   : static_cast<char*>(slot.columns[i].raw()) + r * column_bytes_[i];
    }
    try {
      pipeline_->stage().run(slot.samples[r], row, scratch);
    } catch (...) {
      failed = r;
      error = std::current_exception();
      break;
    }
  }
  const std::lock_guard lock(mutex_);
  if (error && failed < slot.error_row) {
    slot.error_row = failed;
    slot.error = error;
  }
  slot.done += claim.end - claim.begin;
  if (slot.done < slot.samples.size()) return;
  slot.state = Slot::State::ready;
  std::erase(filling_, &slot);
  if (slot.sequence == next_deliver_) ready_.notify_one();
}

bool SlotRing::work(int worker) {
  Claim mine;
  {
    std::unique_lock lock(mutex_);
    mine = claim(lock);
  }
  if (!mine.slot) return false;
  fill(mine, *scratch_[static_cast<std::size_t>(worker)]);
  return true;
}

// ---- consumer

Slot* SlotRing::wait_for_next(std::unique_lock<std::mutex>& lock) {
  const auto find = [&]() -> Slot* {
    for (Slot& slot : slots_) {
      if (slot.state == Slot::State::ready && slot.sequence == next_deliver_) return &slot;
    }
    return nullptr;
  };
  Slot* slot = find();
  if (slot) return slot;
  if (std::all_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.state == Slot::State::lent; })) {
    throw Error(fmt::format(
        "[iterator] all {} batch slots are lent: destroy a Batch before asking for the next, or raise memory_limit",
        slots_.size()));
  }
  if (!pool_) {
    while (!(slot = find())) {
      const Claim mine = claim(lock);
      RIDGELINE_CHECK(mine.slot != nullptr, "a free slot and nothing to claim");
      lock.unlock();
      fill(mine, *scratch_[0]);
      lock.lock();
    }
    return slot;
  }
  const TraceSpan span(trace_, "data", "wait for batch");
  const auto begin = std::chrono::steady_clock::now();
  ready_.wait(lock, [&] { return (slot = find()) != nullptr; });
  // The first batch is start-up, not starvation.
  if (next_deliver_ > 0)
    wait_ns_ += static_cast<std::uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  return slot;
}

Slot* SlotRing::next() {
  std::unique_lock lock(mutex_);
  if (at_end(next_deliver_)) return nullptr;
  Slot* slot = wait_for_next(lock);
  if (slot->error) std::rethrow_exception(slot->error);  // stays where it is: every later call ends here
  if (next_deliver_ == 0) began_ = std::chrono::steady_clock::now();
  ++next_deliver_;
  slot->state = Slot::State::lent;
  return slot;
}

void SlotRing::release(Slot* slot) {
  std::shared_ptr<WorkerPool> pool;
  {
    const std::lock_guard lock(mutex_);
    slot->state = Slot::State::free;
    pool = pool_;
  }
  if (pool) pool->wake();
}

IteratorState SlotRing::state_after(std::uint64_t epoch, std::uint64_t index) const {
  IteratorState state{pipeline_->hash(), pipeline_->seed(), pipeline_->records(), epoch, index + 1};
  if (static_cast<std::int64_t>(state.delivered) == pipeline_->batches_per_epoch()) {
    state.epoch += 1;
    state.delivered = 0;
  }
  return state;
}

IteratorState SlotRing::state() const {
  const std::lock_guard lock(mutex_);
  IteratorState state{pipeline_->hash(), pipeline_->seed(), pipeline_->records(), first_epoch_,
                      first_index_ + next_deliver_};
  if (const std::int64_t per_epoch = pipeline_->batches_per_epoch(); per_epoch != kForever) {
    state.epoch += state.delivered / static_cast<std::uint64_t>(per_epoch);
    state.delivered %= static_cast<std::uint64_t>(per_epoch);
  }
  return state;
}

RunStats SlotRing::stats() const {
  constexpr const char* kNames[kParts] = {"read", "decode", "pixels"};
  RunStats stats;
  for (int part = 0; part < kParts; ++part) {
    StageStats row{.name = kNames[part]};
    for (const auto& scratch : scratch_) {
      row.busy_seconds +=
          static_cast<double>(scratch->counters.nanoseconds[part].load(std::memory_order_relaxed)) * 1e-9;
      row.samples += scratch->counters.samples[part].load(std::memory_order_relaxed);
      row.bytes += scratch->counters.bytes[part].load(std::memory_order_relaxed);
    }
    if (row.samples) stats.stages.push_back(std::move(row));
  }
  const std::lock_guard lock(mutex_);
  if (next_deliver_ > 0)
    stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  stats.consumer_wait_seconds = static_cast<double>(wait_ns_) * 1e-9;
  stats.worker_wait_seconds = pool_ ? pool_->idle_seconds() - idle_before_ : 0;
  stats.batches = next_deliver_;
  stats.workers = pool_size_;
  return stats;
}

}  // namespace ridgeline::data
