#include "ridgeline/train/launch/scheduler_thread.h"

#include <algorithm>

#include "ridgeline/core/error.h"

namespace ridgeline::train {

SchedulerThread::SchedulerThread(const LaunchOptions& options, const OptionalFunction<void(const std::string&)>& say)
    : scheduler_({.servers = options.servers, .workers = std::max(1, options.ranks), .host = kSchedulerHost}, say),
      thread_([this] {
        try {
          scheduler_.run();
        } catch (const Error&) {  // said already, and each process ends by it
        }
      }) {}

SchedulerThread::~SchedulerThread() {
  scheduler_.stop();
  thread_.join();
}

}  // namespace ridgeline::train
