// ridgeline/core/worker_team.h
//
// The threads that run parallel regions together with a calling thread (core/threads.h). Each calling thread owns its
// own; they are made when they are first needed, wait between regions, and end with the calling thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "ridgeline/core/function_ref.h"

namespace ridgeline {

class WorkerTeam {
 public:
  // That of the calling thread. A child that was forked makes new threads.
  static WorkerTeam& of_this_thread();

  WorkerTeam() = default;
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  // Makes the threads of teams up to this size, so that run() does not. An Error where they cannot be started.
  void reserve(int count);
  // part(0) on the calling thread, part(1) to part(count - 1) on others, at the same time as far as cores are free.
  // They do not throw.
  void run(int count, FunctionRef<void(int)> part);

  // While alive, threads that wait for the next region sleep, so that a library's threads have the cores.
  class Asleep {
   public:
    Asleep();
    ~Asleep();
    Asleep(const Asleep&) = delete;
    Asleep& operator=(const Asleep&) = delete;
  };

 private:
  void work(int number, std::uint32_t region);

  // Upper bits: the number of the region. Lower bits: how many threads it has; the other threads keep waiting. With 0
  // all end.
  alignas(64) std::atomic<std::uint32_t> region_{0};
  alignas(64) std::atomic<std::uint32_t> working_{0};  // threads other than the caller's that have not finished it
  const FunctionRef<void(int)>* part_ = nullptr;
  std::vector<std::thread> threads_;
};

}  // namespace ridgeline
