#include "ridgeline/data/runtime/worker_pool.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>

#include "ridgeline/core/error.h"
#include "ridgeline/data/runtime/for_each.h"

namespace ridgeline::data {
namespace {

// Linux keeps niceness per thread. Lowering the own priority needs no permission; a failure costs only speed.
void lower_priority() {
  const sched_param parameters{};
  sched_setscheduler(0, SCHED_BATCH, &parameters);
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 10);
}

}  // namespace

WorkerPool::WorkerPool(int threads, Trace* trace) : trace_(trace) {
  const int count = worker_count(threads);
  try {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this, i] { run(i); });
  } catch (const std::system_error& e) {
    const std::size_t started = threads_.size();
    join();
    throw Error(fmt::format("[workers] only {} of {} threads could be started: {}", started, count, e.what()));
  }
}

WorkerPool::~WorkerPool() { join(); }

void WorkerPool::join() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::add(Client* client) {
  {
    const std::lock_guard lock(mutex_);
    clients_.push_back(std::make_unique<Entry>(Entry{client}));
    ++wakes_;
  }
  work_.notify_all();
}

void WorkerPool::remove(Client* client) {
  std::unique_lock lock(mutex_);
  const auto found = std::find_if(clients_.begin(), clients_.end(), [&](const auto& e) { return e->client == client; });
  if (found == clients_.end()) return;
  Entry* entry = found->get();
  entry->leaving = true;
  left_.wait(lock, [&] { return entry->inside == 0; });
  std::erase_if(clients_, [&](const auto& e) { return e.get() == entry; });
}

void WorkerPool::wake() {
  {
    const std::lock_guard lock(mutex_);
    ++wakes_;
  }
  work_.notify_all();
}

void WorkerPool::run(int worker) {
  lower_priority();
  if (trace_) trace_->name_thread("data worker " + std::to_string(worker));
  std::size_t turn = static_cast<std::size_t>(worker);  // clients are served in turn, workers start at different ones
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const std::uint64_t seen = wakes_;
    bool worked = false;
    for (std::size_t tries = clients_.size(); tries > 0 && !worked && !stop_; --tries) {
      Entry* entry = clients_.empty() ? nullptr : clients_[++turn % clients_.size()].get();
      if (!entry || entry->leaving) continue;
      ++entry->inside;
      lock.unlock();
      worked = entry->client->work(worker);
      lock.lock();
      if (--entry->inside == 0 && entry->leaving) left_.notify_all();
    }
    if (worked || stop_) continue;
    const auto begin = std::chrono::steady_clock::now();
    work_.wait(lock, [&] { return stop_ || wakes_ != seen; });
    idle_.fetch_add(
        static_cast<std::uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count()),
        std::memory_order_relaxed);
  }
}

}  // namespace ridgeline::data
