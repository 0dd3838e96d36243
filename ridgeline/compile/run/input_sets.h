// ridgeline/compile/run/input_sets.h
//
// The inputs of a program on a device with memory of its own: two sets of buffers there. While a step reads one, the
// values of the next step are copied into the other on the copy stream. Owned by the program. One thread.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/device/device.h"

namespace ridgeline {

class DeviceTimeline;

class InputSets {
 public:
  static constexpr int kSets = 2;
  // `bytes`: sizes of the inputs.
  InputSets(Device& device, std::span<const std::size_t> bytes);
  // Nothing may be in flight.
  ~InputSets() = default;
  InputSets(const InputSets&) = delete;
  InputSets& operator=(const InputSets&) = delete;

  struct Source {
    const Tensor* value;
    std::shared_ptr<const void> lease;  // keeps the source's memory until the copy is done; may be null
  };
  // Copies the values into the next set, once its last reader has finished; later work of the compute stream waits for
  // the copy. Returns the set.
  int fill(std::span<const Source> sources, DeviceTimeline* timeline);
  // Call when all work that reads the last filled set has been given to the compute stream.
  void read();
  void* address(int set, std::size_t input) const;
  // Releases the sources of finished copies; `wait`: the host waits until all are finished.
  void let_go(bool wait);
  // The same after a failure, when nothing is in flight any more.
  void forget();

 private:
  struct Set {
    std::unique_ptr<Event> filled, read;  // null before the first use, and after a failure
    std::vector<std::pair<Tensor, std::shared_ptr<const void>>> held;
  };
  Device& device_;
  std::vector<std::size_t> offsets_;  // in a set
  std::size_t set_bytes_ = 0;
  std::unique_ptr<DeviceMemory> memory_;
  std::array<Set, kSets> sets_;
  int last_ = kSets - 1;  // the set that was filled last
};

}  // namespace ridgeline
