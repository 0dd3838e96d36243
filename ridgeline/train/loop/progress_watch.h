// ridgeline/train/loop/progress_watch.h
//
// Shows how far a loop is while it runs. The loop counts its steps in memory; a thread of this object reads the counter
// from time to time, moves the progress bar, and says once how long a long run will take. Borrows the log.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

struct ProgressOptions {
  std::int64_t total_steps = 0;
  std::int64_t batch_size = 1;  // images a step
  double period = 0.25;         // seconds between two readings
  double settle = 5;            // seconds before the estimate is given; a few steps must also be done
  double long_run = 120;        // seconds left; no estimate for shorter runs
};

class ProgressWatch {
 public:
  ProgressWatch(const ProgressOptions& options, std::shared_ptr<const std::atomic<std::int64_t>> step,
                TrainingLog& log);
  ~ProgressWatch();
  ProgressWatch(const ProgressWatch&) = delete;
  ProgressWatch& operator=(const ProgressWatch&) = delete;

  // Logs "about 12 min for the 1000 steps left": once, and only if it is long. Any thread.
  void tell(double seconds_left, std::int64_t steps_left);

 private:
  void watch();

  const ProgressOptions options_;
  const std::shared_ptr<const std::atomic<std::int64_t>> step_;
  TrainingLog& log_;
  std::atomic<bool> told_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace ridgeline::train
