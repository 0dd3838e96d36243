// ridgeline/compile/lower/returned_values.h
//
// Small returned values of runs on a device that works asynchronously: copied into pinned memory after each run, where
// the host reads them once the run's event is reached. Owned by the program. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ridgeline/device/device.h"

namespace ridgeline {

class ReturnedValues {
 public:
  // The largest value that is kept for each run; of larger ones only the last run's is available.
  static constexpr std::size_t kMostBytes = 1024;
  // The number of runs whose values are kept at one time.
  static constexpr std::int64_t kRuns = 128;

  struct Value {
    void* address;  // on the device
    std::size_t bytes;
  };
  ReturnedValues(Device& device, std::vector<Value> values);

  // Keeps the values of the run that was last given to the compute stream. The run kRuns earlier must have been
  // reported.
  void keep();
  // The values of the oldest run that is not reported yet.
  bool ready() const;
  void wait() const;
  const void* value(std::size_t index) const;  // null: not kept
  void told() { ++told_; }
  std::int64_t runs() const { return kept_ - told_; }
  // Call when nothing is in flight any more: drops what was kept.
  void forget() { told_ = kept_; }

 private:
  Event& event(std::int64_t run) const { return *events_[static_cast<std::size_t>(run % kRuns)]; }
  char* slot(std::int64_t run) const;

  Device& device_;
  std::vector<Value> values_;
  std::vector<std::size_t> offsets_;  // in a slot
  std::size_t slot_bytes_ = 0;
  std::unique_ptr<DeviceMemory> memory_;
  std::vector<std::unique_ptr<Event>> events_;  // by slot
  std::int64_t kept_ = 0, told_ = 0;            // numbers of runs
};

}  // namespace ridgeline
