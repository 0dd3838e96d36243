// ridgeline/compile/lower/returned_values.h
//
// Small returned values of runs that a device does behind the host: copied into pinned memory behind each run, where
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
  // What a run may leave in such memory; a larger value is that of the last run alone.
  static constexpr std::size_t kMostBytes = 1024;
  // Runs whose values are kept at one time.
  static constexpr std::int64_t kRuns = 128;

  struct Value {
    void* address;  // on the device
    std::size_t bytes;
  };
  ReturnedValues(Device& device, std::vector<Value> values);

  // Behind the run that the compute stream was given last: the next run. One of kRuns before must have been told.
  void keep();
  // Of the oldest run that is not told yet.
  bool ready() const;
  void wait() const;
  const void* value(std::size_t index) const;  // null: it is not kept
  void told() { ++told_; }
  std::int64_t runs() const { return kept_ - told_; }
  // Nothing is in flight any more, and nobody asks for what was kept.
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
  std::int64_t kept_ = 0, told_ = 0;            // runs
};

}  // namespace ridgeline
