// ridgeline/device/simulated/simulated_event.h
//
// Events of the simulated device: host events that also track the order that they establish (access_order.h).
#pragma once

#include <atomic>
#include <mutex>

#include "ridgeline/device/host_event.h"
#include "ridgeline/device/simulated/access_order.h"

namespace ridgeline {

class SimulatedEvent final : public Event {
 public:
  // `waits` counts how often the host waited.
  SimulatedEvent(const Device& device, AccessOrder& order, std::atomic<std::int64_t>& waits)
      : Event(device), order_(order), waits_(waits), reached_(device) {}

  HostEvent& host() { return reached_; }
  void set_clock(const AccessOrder::Clock& clock) {
    const std::lock_guard lock(mutex_);
    clock_ = clock;
  }
  AccessOrder::Clock clock() const {
    const std::lock_guard lock(mutex_);
    return clock_;
  }
  void wait() override {
    ++waits_;
    const AccessOrder::Clock asked = clock();
    reached_.wait();
    order_.host_waits(asked);
  }
  bool reached() override {
    const AccessOrder::Clock asked = clock();
    if (!reached_.reached()) return false;
    order_.host_waits(asked);
    return true;
  }
  std::chrono::steady_clock::time_point when() override { return reached_.when(); }

 private:
  AccessOrder& order_;
  std::atomic<std::int64_t>& waits_;
  HostEvent reached_;
  mutable std::mutex mutex_;
  AccessOrder::Clock clock_ = {};
};

}  // namespace ridgeline
