// ridgeline/data/runtime/worker_pool.h
//
// The data workers: a few threads of lower priority than the compute team's (nice 10, SCHED_BATCH), shared by any
// number of clients in turn. Owned by a session or by one iterator; a client that has been removed is never called
// again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ridgeline/core/trace.h"

namespace ridgeline::data {

class WorkerPool {
 public:
  // A source of work. Must not throw.
  class Client {
   public:
    virtual ~Client() = default;
    // Does a small piece of work as worker `worker` (0 to size() - 1); false if there was none.
    virtual bool work(int worker) = 0;
  };

  // 0 threads: one per core that this process may use. `trace` (may be null) must outlive the pool.
  explicit WorkerPool(int threads = 0, Trace* trace = nullptr);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }
  void add(Client* client);
  // Returns when no worker is inside client->work() any more.
  void remove(Client* client);
  // Tells workers that there may be work again.
  void wake();
  // Time that workers have spent without work, summed.
  double idle_seconds() const { return static_cast<double>(idle_.load(std::memory_order_relaxed)) * 1e-9; }

 private:
  struct Entry {
    Client* client;
    int inside = 0;
    bool leaving = false;
  };
  void run(int worker);
  void join();

  std::mutex mutex_;
  std::condition_variable work_;  // wake(), add() and the end
  std::condition_variable left_;  // a worker left a client
  std::vector<std::unique_ptr<Entry>> clients_;
  std::uint64_t wakes_ = 0;
  bool stop_ = false;
  std::atomic<std::uint64_t> idle_{0};
  Trace* trace_;
  std::vector<std::thread> threads_;
};

}  // namespace ridgeline::data
