// ridgeline/train/loop/progress_watch.h
//
// Says how far a loop is while it runs. The loop counts its steps in memory and goes on; a thread of this object reads
// the counter now and then, moves the bar, and tells once how long a long run will take. Borrows the log.
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
  double period = 0.25;         // seconds between two looks
  double settle = 5;            // seconds before the estimate is told; a few steps must be done as well
  double long_run = 120;        // seconds left: of shorter runs nothing is told
};

class ProgressWatch {
 public:
  ProgressWatch(const ProgressOptions& options, std::shared_ptr<const std::atomic<std::int64_t>> step,
                TrainingLog& log);
  ~ProgressWatch();
  ProgressWatch(const ProgressWatch&) = delete;
  ProgressWatch& operator=(const ProgressWatch&) = delete;

  // "about 12 min for the 1000 steps left" into the log: once for this object, and only if it is long. Any thread.
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
