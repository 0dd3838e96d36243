// ridgeline/device/cuda/comm/host_failure.h
//
// A failure of work that a stream waited for, of the host or of other ranks: it cannot be thrown on the driver's
// thread, so it is kept for the next wait. Any thread.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

namespace ridgeline::cuda {

class HostFailure {
 public:
  void keep(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    there_.store(true, std::memory_order_release);
  }
  // The same of one behind which exchanges cannot be given again: recorded ones would use what is gone.
  void end(std::exception_ptr error) {
    {
      const std::lock_guard lock(mutex_);
      if (!end_) end_ = error;
    }
    keep(std::move(error));
  }
  bool there() const { return there_.load(std::memory_order_acquire); }
  // Throws it, once.
  void tell() {
    if (!there()) return;
    std::exception_ptr error;
    {
      const std::lock_guard lock(mutex_);
      error = std::exchange(error_, nullptr);
      there_.store(false, std::memory_order_release);
    }
    if (error) std::rethrow_exception(error);
  }
  // Throws what exchanges have ended with, each time.
  void check_end() {
    std::exception_ptr error;
    {
      const std::lock_guard lock(mutex_);
      error = end_;
    }
    if (error) std::rethrow_exception(error);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_, end_;
  std::atomic<bool> there_{false};
};

}  // namespace ridgeline::cuda
