#include "ridgeline/data/runtime/device_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"

namespace ridgeline::data {

DeviceQueue::DeviceQueue(const Dataset& dataset, IteratorOptions options, DeviceQueueOptions queue)
    : iterator_(dataset, std::move(options)),
      depth_(queue.depth != 0 ? queue.depth : std::clamp<std::int64_t>(iterator_.slots() - 1, 1, 2)),
      received_(iterator_.state()) {
  // One slot at least must be left for the workers to fill.
  if (depth_ < 1 || depth_ >= iterator_.slots()) {
    throw Error(fmt::format("[device queue] depth is {}, it must be at least 1 and below the {} batch slots", depth_,
                            iterator_.slots()));
  }
}

DeviceQueue::~DeviceQueue() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  iterator_.stop();
  if (sender_.joinable()) sender_.join();
}

void DeviceQueue::restore(const IteratorState& state) {
  if (sender_.joinable()) throw Error("[device queue] restore() comes before send(): batches are on their way");
  iterator_.restore(state);
  const std::lock_guard lock(mutex_);
  received_ = iterator_.state();
}

void DeviceQueue::send(const std::source_location& at) {
  if (sender_.joinable()) {
    throw Error(
        "[device queue] send() was called before: it starts the queue once, and resume() goes on behind stop()" +
        behind_message(at));
  }
  sender_ = std::thread([this] { run(); });
}

void DeviceQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    resting_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return closing_ || (!stopped_ && static_cast<std::int64_t>(queue_.size()) < depth_); });
    if (closing_) break;
    // There is no other consumer: a slot that is free now stays free until next().
    starved_ = !iterator_.has_room();
    if (starved_) {
      changed_.notify_all();
      lock.unlock();
      iterator_.wait_for_room();
      lock.lock();
      starved_ = false;
      continue;
    }
    resting_ = false;
    lock.unlock();
    std::optional<Batch> batch;
    std::exception_ptr error;
    try {
      batch = iterator_.next();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (!batch) {
      error_ = error;
      break;
    }
    queue_.push_back(std::move(*batch));
    ++sent_;
    changed_.notify_all();
  }
  ended_ = resting_ = true;
  changed_.notify_all();
}

void DeviceQueue::stop() {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  if (!sender_.joinable()) return;
  changed_.wait(lock, [&] { return resting_; });
}

void DeviceQueue::resume() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = false;
  }
  changed_.notify_all();
}

std::optional<Batch> DeviceQueue::receive() {
  std::optional<Batch> batch;
  {
    std::unique_lock lock(mutex_);
    if (!sender_.joinable()) throw Error("[device queue] nothing is sent yet: call send() first");
    const auto all_held = [&] { return starved_ && !iterator_.has_room(); };
    const auto begin = std::chrono::steady_clock::now();
    changed_.wait(lock, [&] { return !queue_.empty() || ended_ || (stopped_ && resting_) || all_held(); });
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (queue_.empty()) {
      if (error_) std::rethrow_exception(error_);
      if (ended_) return std::nullopt;
      if (all_held()) {
        throw Error(fmt::format("[device queue] all {} batch slots are held: release a Batch before the next receive()",
                                iterator_.slots()));
      }
      throw Error("[device queue] is stopped and empty: call resume()");
    }
    batch = std::move(queue_.front());
    queue_.pop_front();
    received_ = batch->state_after();
  }
  changed_.notify_all();
  return batch;
}

std::int64_t DeviceQueue::waiting() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(queue_.size());
}
std::int64_t DeviceQueue::sent() const {
  const std::lock_guard lock(mutex_);
  return sent_;
}
RunStats DeviceQueue::stats() const {
  RunStats stats = iterator_.stats();
  const std::lock_guard lock(mutex_);
  stats.consumer_wait_seconds = waited_;
  return stats;
}
IteratorState DeviceQueue::state() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

}  // namespace ridgeline::data
