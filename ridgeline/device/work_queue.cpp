#include "ridgeline/device/work_queue.h"

#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"

namespace ridgeline {

WorkQueue::WorkQueue() : thread_([this] { work(); }) {}

WorkQueue::~WorkQueue() {
  std::deque<Task> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(queue_);
  }
  changed_.notify_all();
  for (const Task& task : dropped) {
    if (task.reaches != nullptr)
      task.reaches->reach(task.record, std::make_exception_ptr(Error("the stream was destroyed")));
  }
  thread_.join();
}

void WorkQueue::push(std::function<void()> work) { push(Task{std::move(work)}); }

void WorkQueue::record(HostEvent& event) { push(Task{nullptr, &event, event.record()}); }

void WorkQueue::push(Task task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void WorkQueue::drain() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return queue_.empty() && !running_; });
}

void WorkQueue::synchronize() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return queue_.empty() && !running_; });
  if (std::exception_ptr error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
}

void WorkQueue::work() {
  const FlushDenormals flush;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    running_ = true;
    std::exception_ptr error = error_;
    lock.unlock();
    if (!error && task.work) {
      try {
        task.work();
      } catch (...) {
        error = std::current_exception();
      }
    }
    task.work = nullptr;
    if (task.reaches != nullptr) task.reaches->reach(task.record, error);
    lock.lock();
    running_ = false;
    error_ = error;
    if (queue_.empty()) idle_.notify_all();
  }
}

}  // namespace ridgeline
