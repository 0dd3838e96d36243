// ridgeline/train/launch/scheduler_thread.h
//
// The launcher as the scheduler of the workers and servers that it starts. It owns a thread, which ends with it.
#pragma once

#include <string>
#include <thread>

#include "ridgeline/comm/meeting/scheduler.h"
#include "ridgeline/core/given_function.h"
#include "ridgeline/train/launch/launch_plan.h"

namespace ridgeline::train {

class SchedulerThread {
 public:
  // Listens at a free port of this machine. `say` is also called from that thread.
  SchedulerThread(const LaunchOptions& options, const OptionalFunction<void(const std::string&)>& say);
  ~SchedulerThread();
  SchedulerThread(const SchedulerThread&) = delete;
  SchedulerThread& operator=(const SchedulerThread&) = delete;

  int port() const { return scheduler_.port(); }

 private:
  comm::Scheduler scheduler_;
  std::jthread thread_;
};

}  // namespace ridgeline::train
