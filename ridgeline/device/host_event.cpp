#include "ridgeline/device/host_event.h"

#include <utility>

namespace ridgeline {

std::uint64_t HostEvent::record() {
  const std::lock_guard lock(mutex_);
  return ++recorded_;
}

void HostEvent::reach(std::uint64_t record, std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (error) {
    if (last_failed_ != reached_ || !error_) first_failed_ = record;
    last_failed_ = record;
    error_ = std::move(error);
  }
  reached_ = record;
  when_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

std::uint64_t HostEvent::recorded() const {
  const std::lock_guard lock(mutex_);
  return recorded_;
}

void HostEvent::wait_for(std::uint64_t record) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached_ >= record; });
  if (error_ && record >= first_failed_ && record <= last_failed_) std::rethrow_exception(error_);
}

bool HostEvent::reached() {
  const std::lock_guard lock(mutex_);
  if (reached_ < recorded_) return false;
  if (error_ && recorded_ >= first_failed_ && recorded_ <= last_failed_) std::rethrow_exception(error_);
  return true;
}

std::chrono::steady_clock::time_point HostEvent::when() {
  const std::lock_guard lock(mutex_);
  return when_;
}

}  // namespace ridgeline
