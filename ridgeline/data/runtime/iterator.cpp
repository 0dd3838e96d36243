#include "ridgeline/data/runtime/iterator.h"

#include <fmt/format.h>

#include "ridgeline/core/file.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/runtime/callbacks.h"
#include "ridgeline/data/runtime/slots.h"

namespace ridgeline::data {

struct Iterator::State {
  Dataset dataset;
  IteratorOptions options;
  std::shared_ptr<const Pipeline> pipeline;
  std::shared_ptr<WorkerPool> pool;  // null in pull mode
  std::shared_ptr<SlotRing> ring;
  Callbacks callbacks;
  std::exception_ptr failure;  // of a callback, or of a restart: the run is over
  IteratorState stopped_at;    // there

  State(const Dataset& d, IteratorOptions o) : dataset(d), options(std::move(o)), callbacks(d.graph()) {}

  void check(const IteratorState& state) const;
  static void check_position(const IteratorState& state, const Pipeline& pipeline);
  // With the seed of `start`, unless the caller set one.
  std::shared_ptr<const Pipeline> compile(const std::optional<IteratorState>& start);
  void begin();
  void end();
  SlotRing& running() const;  // throws what ended the run if it could not go on
  std::optional<Batch> take();
  std::optional<Batch> take_with_callbacks();
  template <class F>
  void call(const IteratorState& position, F&& callback);
};

// Another graph, seed or data would silently give other batches.
void Iterator::State::check(const IteratorState& state) const {
  const std::uint64_t hash = dataset.hash();
  if (state.graph_hash != hash) {
    throw Error(fmt::format(
        "[data state] belongs to another data graph: its hash is {:016x}, this graph's is {:016x} (transforms, batch "
        "size or source differ)",
        state.graph_hash, hash));
  }
  // The caller set one: a state with another is not the caller's.
  if (options.seed && *options.seed != state.seed)
    throw Error(fmt::format("[data state] was saved with seed {}, this run has seed {}", state.seed, *options.seed));
}

std::shared_ptr<const Pipeline> Iterator::State::compile(const std::optional<IteratorState>& start) {
  IteratorOptions seeded = options;
  if (start) seeded.seed = start->seed;  // checked: the caller's, if he set one
  auto pipeline = std::make_shared<const Pipeline>(dataset, seeded);
  if (!pipeline->batched()) throw Error("[iterator] the graph ends in samples: end it with batch");
  if (pipeline->batches_per_epoch() == 0) {
    throw Error(fmt::format("[iterator] no batch to deliver: {} samples, batches of {}{}", pipeline->rows().size(),
                            pipeline->capacity(), pipeline->rows().size() > 0 ? " and the remainder is dropped" : ""));
  }
  return pipeline;
}

void Iterator::State::check_position(const IteratorState& start, const Pipeline& pipeline) {
  if (start.records != pipeline.records()) {
    throw Error(fmt::format("[data state] was saved with {} records, the source has {}: the data has changed",
                            start.records, pipeline.records()));
  }
  if (!pipeline.has_batch({start.epoch, start.delivered})) {
    throw Error(fmt::format("[data state] says {} batches of the epoch are delivered, an epoch has {}", start.delivered,
                            pipeline.count_batches(start.epoch)));
  }
}

void Iterator::State::begin() {
  ring = std::make_shared<SlotRing>(pipeline, options, pool);
  ring->start();
  if (options.log) {
    options.log->trace("data", fmt::format("{} workers, {} slots of {} bytes, {} batches per epoch", ring->workers(),
                                           ring->slots(), ring->slot_bytes(), pipeline->batches_per_epoch()));
  }
}

void Iterator::State::end() {
  if (ring) ring->stop();
  ring.reset();
}

SlotRing& Iterator::State::running() const {
  if (!ring) std::rethrow_exception(failure);
  return *ring;
}

Iterator::Iterator(const Dataset& dataset, IteratorOptions options)
    : state_(std::make_unique<State>(dataset, std::move(options))) {
  State& s = *state_;
  if (s.options.workers < 0)
    throw Error(fmt::format("[iterator] workers is {}, it must not be negative", s.options.workers));
  if (s.options.memory_limit < 0)
    throw Error(fmt::format("[iterator] memory_limit is {}, it must not be negative", s.options.memory_limit));
  if (s.options.jpeg_index_memory < -1)
    throw Error(
        fmt::format("[iterator] jpeg_index_memory is {}, it must be a number of bytes, 0 (none) or -1 (a share)",
                    s.options.jpeg_index_memory));
  if (s.options.slots < 0) throw Error(fmt::format("[iterator] slots is {}, it must not be negative", s.options.slots));
  if (s.options.epochs < 1 && s.options.epochs != kForever)
    throw Error(fmt::format("[iterator] epochs is {}, it must be at least 1, or kForever", s.options.epochs));
  if (s.options.start) s.check(*s.options.start);
  s.pipeline = s.compile(s.options.start);
  if (s.options.start) s.check_position(*s.options.start, *s.pipeline);
  if (!s.options.pull) {
    const int workers = plan_of(s.pipeline->batch_node()).workers;
    s.pool = s.options.pool ? s.options.pool : std::make_shared<WorkerPool>(workers, s.options.trace);
  }
  s.begin();
}

Iterator::~Iterator() {
  if (state_) state_->end();
}
Iterator::Iterator(Iterator&&) noexcept = default;
Iterator& Iterator::operator=(Iterator&& other) noexcept {
  if (state_) state_->end();
  state_ = std::move(other.state_);
  return *this;
}

std::optional<Batch> Iterator::State::take() {
  Slot* slot = running().next();
  if (!slot) return std::nullopt;
  return Batch(std::make_unique<BatchLease>(ring, slot));
}

// Where it throws, the run is over, and `position` is its last state.
template <class F>
void Iterator::State::call(const IteratorState& position, F&& callback) {
  try {
    callback();
  } catch (...) {
    failure = std::current_exception();
    stopped_at = position;
    ring->stop();
    throw;
  }
}

std::optional<Batch> Iterator::State::take_with_callbacks() {
  if (failure) std::rethrow_exception(failure);
  const IteratorState before = ring->state();
  call(before, [&] { callbacks.finish_step(); });
  std::optional<Batch> batch = take();
  // A batch whose step cannot begin is not delivered: `before` is the state from which it is repeated.
  call(before, [&] {
    if (batch)
      callbacks.start_step(batch->epoch(), batch->index(), batch->last_of_epoch());
    else if (!ring->stopped())
      callbacks.finish_run();
  });
  return batch;
}

std::optional<Batch> Iterator::next() {
  return state_->callbacks.empty() ? state_->take() : state_->take_with_callbacks();
}

bool Iterator::wait_for(std::chrono::milliseconds limit) const {
  return state_->failure || state_->ring->wait_for(limit);
}

IteratorState Iterator::state() const { return state_->failure ? state_->stopped_at : state_->ring->state(); }
void Iterator::save(const std::string& path) const { write_file_atomically(path, state().to_json() + "\n"); }
void Iterator::restore(const std::string& path) { restore(IteratorState::from_json(read_file(path))); }

void Iterator::restore(const IteratorState& state) {
  State& s = *state_;
  s.check(state);
  const std::shared_ptr<const Pipeline> pipeline = state.seed == s.pipeline->seed() ? s.pipeline : s.compile(state);
  s.check_position(state, *pipeline);
  s.end();
  s.pipeline = pipeline;
  s.options.start = state;
  s.failure = nullptr;
  s.callbacks.restart();
  try {
    s.begin();
  } catch (...) {
    s.failure = std::current_exception();
    s.stopped_at = state;
    throw;
  }
}

const Schema& Iterator::columns() const { return state_->pipeline->columns(); }
std::int64_t Iterator::batches_per_epoch() const { return state_->pipeline->batches_per_epoch(); }
ImageTail Iterator::image_tail() const { return state_->pipeline->tail(); }
int Iterator::workers() const { return state_->running().workers(); }
std::int64_t Iterator::slots() const { return state_->running().slots(); }
std::int64_t Iterator::slot_bytes() const { return state_->running().slot_bytes(); }
std::int64_t Iterator::bad_samples() const { return state_->running().bad_samples(); }
RunStats Iterator::stats() const { return state_->running().stats(); }

bool Iterator::has_room() const { return state_->running().has_room(); }
void Iterator::wait_for_room() { state_->running().wait_for_room(); }
void Iterator::stop() { state_->running().stop(); }

const Tensor& Sample::column(std::string_view name) const {
  for (const NamedTensor& c : columns) {
    if (c.name == name) return c.tensor;
  }
  throw Error(fmt::format("[sample] no column '{}'", name));
}

}  // namespace ridgeline::data
