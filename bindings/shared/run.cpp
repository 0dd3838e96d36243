#include "bindings/shared/run.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ridgeline/core/error.h"

namespace ridgeline::bindings {

Log& log() {
  static auto* log = new Log;
  return *log;
}

Run::Run(const data::Dataset& dataset, data::IteratorOptions options, std::shared_ptr<data::BatchAllocator> memory)
    : memory_(std::move(memory)), process_(::getpid()) {
  options.log = &log();
  options.allocator = memory_.get();
  iterator_ = std::make_unique<data::Iterator>(dataset, std::move(options));
}

Run::Came Run::next(std::chrono::milliseconds limit, std::shared_ptr<HeldBatch>& batch) {
  check_process();
  const auto end = std::chrono::steady_clock::now() + limit;
  const auto left = [&] {
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    return std::max(time, std::chrono::milliseconds(0));
  };
  const Turns::Turn turn = turns_.long_turn(end);
  if (!turn || !running().wait_for(left())) return Came::nothing;
  std::optional<data::Batch> made = running().next();
  if (!made) return Came::end;
  // Two slots are kept for the workers.
  const auto slots = static_cast<int>(running().slots());
  batch = std::make_shared<HeldBatch>(*std::move(made), lent_, slots < 2 ? 0 : std::max(1, slots - 2), memory_);
  return Came::batch;
}

void Run::close() {
  if (!of_this_process()) {
    iterator_.release();  // NOLINT: leaked on purpose, since its threads exist only in the parent
    if (memory_) new std::shared_ptr<data::BatchAllocator>(std::move(memory_));
    return;
  }
  const Turns::Turn turn = turns_.short_turn();
  iterator_.reset();
}

bool Run::of_this_process() const { return process_ == ::getpid(); }

void Run::check_process() const {
  if (!of_this_process())
    throw Error("[iterator] was made before this process was forked, its workers are in the other one: make another",
                ErrorKind::usage);
}

data::Iterator& Run::running() const {
  if (!iterator_) throw Error("[iterator] is closed", ErrorKind::usage);
  return *iterator_;
}

}  // namespace ridgeline::bindings
