#include "ridgeline/data/runtime/slots.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <utility>

#include "ridgeline/core/memory.h"
#include "ridgeline/core/stop.h"
#include "ridgeline/core/user_cache.h"
#include "ridgeline/data/ir/registry.h"

namespace ridgeline::data {
namespace {

// Large slots are in huge pages where the system has them: the first epoch touches every page of every slot, and a
// worker that writes one row after the other needs another page every few microseconds.
class HostAllocator : public BatchAllocator {
 public:
  void* allocate(std::size_t bytes, std::size_t alignment) override {
    constexpr std::size_t kLargePage = std::size_t{2} << 20;
    const bool large = bytes >= 2 * kLargePage;
    const std::size_t step = std::max(alignment, large ? kLargePage : alignment);
    const std::size_t size = (bytes + step - 1) / step * step;
    void* memory = std::aligned_alloc(step, size);
    if (!memory) throw std::bad_alloc();
    if (large) ::madvise(memory, size, MADV_HUGEPAGE);  // a wish: refused, pages are small
    return memory;
  }
  void release(void* memory) override { std::free(memory); }
};

BatchAllocator* host_allocator() {
  static HostAllocator allocator;  // has no state
  return &allocator;
}

// Bytes of new indices for which a file in the user's cache folder is written by default: some 500 pictures.
constexpr std::int64_t kWorthwhile = std::int64_t{1} << 20;

JpegIndexPlace jpeg_index_place(const Pipeline& pipeline, const IteratorOptions& options) {
  const bool chosen = options.jpeg_index_directory.has_value();
  const std::string cache = chosen ? "" : user_cache_directory();
  const std::string directory = chosen ? *options.jpeg_index_directory : cache.empty() ? "" : cache + "/jpeg";
  if (directory.empty()) return {};
  return {jpeg_index_path(directory, pipeline.sources()), options.jpeg_index_disk, chosen ? 0 : kWorthwhile};
}

}  // namespace

SlotRing::SlotRing(std::shared_ptr<const Pipeline> pipeline, const IteratorOptions& options,
                   std::shared_ptr<WorkerPool> pool)
    : pipeline_(std::move(pipeline)),
      pool_(std::move(pool)),
      allocator_(options.allocator ? options.allocator : host_allocator()),
      trace_(options.trace),
      writer_(*pipeline_, options.bad_samples.policy, options.pad_last),
      epochs_(pipeline_->batches_per_epoch() == kForever ? kForever : options.epochs),
      position_{pipeline_->hash(), pipeline_->seed(), pipeline_->records(), 0, 0},
      account_(options.bad_samples, options.log) {
  pool_size_ = pool_ ? pool_->size() : 0;
  for (int i = 0; i < std::max(1, pool_size_); ++i) scratch_.push_back(std::make_unique<Scratch>(pipeline_->places()));
  const bool again = std::any_of(pipeline_->graph().nodes.begin(), pipeline_->graph().nodes.end(),
                                 [](const Node& node) { return node_entry(node.op).repeats; });
  const std::int64_t index_memory = options.jpeg_index_memory < 0 ? available_memory() / 16 : options.jpeg_index_memory;
  const bool make = epochs_ != 1 || again || !options.jpeg_index_directory.value_or("").empty();
  JpegIndexPlace disk = index_memory > 0 ? jpeg_index_place(*pipeline_, options) : JpegIndexPlace();
  std::error_code unreadable;
  if (index_memory > 0 && (make || std::filesystem::exists(disk.path, unreadable)))
    indices_ = std::make_unique<JpegIndices>(index_memory, std::move(disk), make, options.log);
  for (const auto& scratch : scratch_) scratch->indices = indices_.get();
  const BatchPlan plan = plan_of(pipeline_->batch_node());
  rows_at_once_ = static_cast<std::size_t>(plan.rows_at_once);
  for (const auto& scratch : scratch_) scratch->cheap = rows_at_once_ > 1;
  if (options.start) {
    position_.epoch = next_epoch_ = options.start->epoch;
    position_.delivered = next_index_ = options.start->delivered;
  }
  try {
    allocate(plan.slots);
  } catch (...) {
    free_slots();
    throw;
  }
  tuner_ = Tuner(options.autotune, pool_size_, static_cast<int>(slots_.size()));
}

void SlotRing::allocate(std::int64_t slots) {
  slots_.resize(static_cast<std::size_t>(slots));
  for (Slot& slot : slots_) {
    slot.memory = allocator_->allocate(writer_.slot_bytes(), kSlotAlignment);
    slot.columns.resize(writer_.columns());
    slot.values.resize(writer_.columns());
    slot.gathered.resize(writer_.columns());
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
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ready_.notify_all();
  if (pool_) {
    pool_->remove(this);
    const std::lock_guard lock(mutex_);
    pool_.reset();
  }
  if (indices_) indices_->save();
}

// ---- workers

SlotRing::Claim SlotRing::claim(std::unique_lock<std::mutex>& lock) {
  while (!stopping_) {
    for (Slot* slot : filling_) {
      if (slot->claimed == slot->samples.size()) continue;
      const std::size_t begin = slot->claimed;
      slot->claimed = std::min(begin + rows_at_once_, slot->samples.size());
      return {slot, begin, slot->claimed};
    }
    if (end_ || opening_) return {};
    int prepared = 0;
    Slot* free = nullptr;
    for (Slot& slot : slots_) {
      if (slot.state == Slot::State::free && !free) free = &slot;
      prepared += slot.state != Slot::State::free && slot.state != Slot::State::lent;
    }
    if (!free || prepared >= tuner_.slots()) return {};
    open_next(*free, lock);
  }
  return {};
}

// Finds out which batch comes next and makes the slot ready to be filled. Releases the lock for that: it may read rows
// (filter), or build an epoch's permutation.
void SlotRing::open_next(Slot& slot, std::unique_lock<std::mutex>& lock) {
  slot.state = Slot::State::opening;
  slot.sequence = next_open_;
  slot.samples.clear();
  slot.error = nullptr;
  opening_ = true;
  lock.unlock();
  if (pool_ && pipeline_->looks()) pool_->wake();  // to help()
  bool there = true;
  try {
    there = place(slot);
    if (there) writer_.open(slot);
    if (there && slot.samples.empty()) writer_.finish(slot);  // a rank without rows in the last batch
  } catch (...) {
    slot.error = std::current_exception();
    slot.samples.clear();
  }
  lock.lock();
  opening_ = false;
  if (!there) {
    slot.state = Slot::State::free;
    end_ = next_open_;
    ready_.notify_all();
    return;
  }
  ++next_open_;
  if (slot.error) end_ = next_open_;
  slot.state = slot.samples.empty() ? Slot::State::ready : Slot::State::filling;
  if (slot.state == Slot::State::ready) {
    ready_.notify_all();
  } else {
    filling_.push_back(&slot);
  }
  if (!pool_) return;
  lock.unlock();
  pool_->wake();  // the others may have gone to sleep while there was nothing to claim
  lock.lock();
}

// False: the run is over.
bool SlotRing::place(Slot& slot) {
  const auto over = [&] { return epochs_ != kForever && next_epoch_ >= static_cast<std::uint64_t>(epochs_); };
  const auto next_epoch = [&] {
    ++next_epoch_;
    next_index_ = 0;
    // Once, for later runs: this one may be killed. The rest is saved at its end.
    if (indices_ && !std::exchange(saved_, true)) save_due_ = true;
  };
  if (over()) return false;
  if (next_index_ > 0 && !pipeline_->has_batch({next_epoch_, next_index_})) next_epoch();
  if (over()) return false;
  if (!pipeline_->has_batch({next_epoch_, next_index_}))
    throw Error(fmt::format("[iterator] no batch to deliver: epoch {} has none", next_epoch_));
  slot.epoch = next_epoch_;
  slot.index = next_index_++;
  slot.last_of_epoch = !pipeline_->has_batch({slot.epoch, next_index_});
  if (slot.last_of_epoch) next_epoch();
  return true;
}

void SlotRing::fill(const Claim& claim, Scratch& scratch) {
  const TraceSpan span(trace_, "data", "fill");
  Slot& slot = *claim.slot;
  std::size_t failed = slot.samples.size();
  std::exception_ptr error;
  std::vector<BadSample> bad;
  if (claim.end - claim.begin > 1) writer_.prefetch(slot, claim.begin, claim.end, scratch);
  for (std::size_t row = claim.begin; row < claim.end && !stopping_; ++row) {
    try {
      writer_.fill_row(slot, row, scratch, bad);
    } catch (...) {
      failed = row;
      error = std::current_exception();
      break;
    }
  }
  std::unique_lock lock(mutex_);
  if (error && failed < slot.error_row) {
    slot.error_row = failed;
    slot.error = error;
  }
  slot.bad.insert(slot.bad.end(), bad.begin(), bad.end());
  slot.done += claim.end - claim.begin;
  if (slot.done < slot.samples.size()) return;
  std::erase(filling_, &slot);
  if (!slot.error && !stopping_) {
    lock.unlock();  // nobody else touches a slot that is neither filling nor ready
    try {
      writer_.finish(slot);
    } catch (...) {
      slot.error = std::current_exception();
    }
    lock.lock();
  }
  slot.state = Slot::State::ready;
  if (slot.sequence == next_deliver_) ready_.notify_one();
}

bool SlotRing::work(int worker) {
  const StopScope scope(stopping_);
  Claim mine;
  {
    std::unique_lock lock(mutex_);
    if (worker >= tuner_.workers()) return false;
    mine = claim(lock);
    if (!mine.slot && (!opening_ || stopping_)) return false;
  }
  if (!mine.slot) return help();
  fill(mine, *scratch_[static_cast<std::size_t>(worker)]);
  if (save_due_.exchange(false)) indices_->save();
  return true;
}

// While another worker looks for the rows of the next batch. An error will be raised again by that one.
bool SlotRing::help() {
  try {
    return pipeline_->help();
  } catch (...) {
    return false;
  }
}

// ---- consumer

Slot* SlotRing::ready_slot() {
  for (Slot& slot : slots_) {
    if (slot.state == Slot::State::ready && slot.sequence == next_deliver_) return &slot;
  }
  return nullptr;
}

// Counts as the consumer's wait; the first batch is start-up, not starvation.
template <class Wait>
auto SlotRing::waiting(Wait&& wait) {
  const TraceSpan span(trace_, "data", "wait for batch");
  const auto begin = std::chrono::steady_clock::now();
  const auto result = wait();
  if (next_deliver_ > 0)
    wait_ns_ += static_cast<std::uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  return result;
}

Slot* SlotRing::wait_for_next(std::unique_lock<std::mutex>& lock) {
  Slot* slot = ready_slot();
  if (slot) return slot;
  if (all_lent()) {
    throw Error(fmt::format(
        "[iterator] all {} batch slots are lent: destroy a Batch before asking for the next, or raise memory_limit",
        slots_.size()));
  }
  if (!pool_) {
    while (!stopping_ && !(slot = ready_slot()) && !(end_ && next_deliver_ >= *end_)) {
      const Claim mine = claim(lock);
      if (!mine.slot) continue;  // the end was found, or a batch without rows
      lock.unlock();
      fill(mine, *scratch_[0]);
      lock.lock();
    }
    return slot;
  }
  return waiting([&] {
    ready_.wait(lock,
                [&] { return stopping_ || (slot = ready_slot()) != nullptr || (end_ && next_deliver_ >= *end_); });
    return slot;
  });
}

bool SlotRing::wait_for(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  const auto due = [&] { return stopping_ || ready_slot() || all_lent() || (end_ && next_deliver_ >= *end_); };
  if (!pool_ || due()) return true;
  return waiting([&] { return ready_.wait_for(lock, limit, due); });
}

Slot* SlotRing::next() {
  std::unique_lock lock(mutex_);
  if (stopping_ || (end_ && next_deliver_ >= *end_)) return nullptr;
  Slot* slot = wait_for_next(lock);
  if (!slot) return nullptr;
  if (!slot->bad.empty()) {
    std::sort(slot->bad.begin(), slot->bad.end(), [](const BadSample& a, const BadSample& b) { return a.row < b.row; });
    // Those after the row that ends the run depend on which worker was faster.
    if (slot->error) std::erase_if(slot->bad, [&](const BadSample& b) { return b.row > slot->error_row; });
    try {
      account_.add(std::exchange(slot->bad, {}));
    } catch (...) {
      slot->error = std::current_exception();  // the budget stays spent at every later call
      throw;
    }
  }
  if (slot->error) std::rethrow_exception(slot->error);  // stays where it is: every later call ends here
  if (next_deliver_ == 0) began_ = std::chrono::steady_clock::now();
  ++next_deliver_;
  position_ = state_after(*slot);
  slot->state = Slot::State::lent;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  const bool tuned = tuner_.delivered(seconds, static_cast<double>(wait_ns_) * 1e-9);
  // Where not all slots may be prepared at a time, this one's leave lets the workers begin another.
  if (pool_ && (tuned || tuner_.slots() < slots())) {
    const std::shared_ptr<WorkerPool> pool = pool_;
    lock.unlock();
    pool->wake();
  }
  return slot;
}

void SlotRing::release(Slot* slot) {
  std::shared_ptr<WorkerPool> pool;
  {
    const std::lock_guard lock(mutex_);
    slot->state = Slot::State::free;
    pool = pool_;
  }
  ready_.notify_all();
  if (pool) pool->wake();
}

bool SlotRing::all_lent() const {
  return std::all_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.state == Slot::State::lent; });
}
bool SlotRing::has_room() const {
  const std::lock_guard lock(mutex_);
  return !all_lent();
}
void SlotRing::wait_for_room() {
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [&] { return stopping_ || !all_lent(); });
}

IteratorState SlotRing::state_after(const Slot& slot) const {
  IteratorState state{pipeline_->hash(), pipeline_->seed(), pipeline_->records(), slot.epoch, slot.index + 1};
  if (slot.last_of_epoch) {
    state.epoch += 1;
    state.delivered = 0;
  }
  return state;
}

IteratorState SlotRing::state() const {
  const std::lock_guard lock(mutex_);
  return position_;
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
  stats.workers = pool_ ? tuner_.workers() : 0;
  stats.bad_samples = account_.count();
  if (indices_) {
    stats.jpeg_indices = indices_->count();
    stats.jpeg_indices_on_disk = indices_->count_on_disk();
    stats.jpeg_index_bytes = indices_->bytes();
  }
  return stats;
}

}  // namespace ridgeline::data
