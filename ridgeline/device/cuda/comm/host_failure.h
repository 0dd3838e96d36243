// ridgeline/device/cuda/comm/host_failure.h
//
// An exception of host work that a stream waited for: it cannot be thrown on the driver's thread, so it is kept for the
// next wait.
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
