// ridgeline/device/cuda/comm/host_failure.h
//
// What went wrong in work of the host that a stream waited for: the driver's thread has nobody to throw it to, so it is
// kept for whoever waits next.
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

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<bool> there_{false};
};

}  // namespace ridgeline::cuda
