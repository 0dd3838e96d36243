// ridgeline/compile/run/input_sets.h
//
// The inputs of a program on a device with memory of its own: two sets of buffers there. While a step reads one, the
// values of the next are copied into the other on the stream of copies. Owned by the program. One thread.
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
  // `bytes` of each input.
  InputSets(Device& device, std::span<const std::size_t> bytes);
  // Nothing of it may be in flight.
  ~InputSets() = default;
  InputSets(const InputSets&) = delete;
  InputSets& operator=(const InputSets&) = delete;

  struct Source {
    const Tensor* value;
    std::shared_ptr<const void> lease;  // of its memory, held until the copy is done; may be null
  };
  // Copies the values into the next set, behind whatever read that set last; what the compute stream is given from now
  // on begins when they are there. Returns the set.
  int fill(std::span<const Source> sources, DeviceTimeline* timeline);
  // The compute stream was given all that reads the set that was filled last.
  void read();
  void* address(int set, std::size_t input) const;
  // Lets go what copies were made of, where they are done; `wait`: the host waits until all are.
  void let_go(bool wait);
  // The same where nothing is in flight any more, as something failed.
  void forget();

 private:
  struct Set {
    std::unique_ptr<Event> filled, read;  // null before the first use, and behind a failure
    std::vector<std::pair<Tensor, std::shared_ptr<const void>>> held;
  };
  Device& device_;
  std::vector<std::size_t> offsets_;  // in a set
  std::size_t set_bytes_ = 0;
  std::unique_ptr<DeviceMemory> memory_;
  std::array<Set, kSets> sets_;
  int last_ = kSets - 1;  // that was filled last
};

}  // namespace ridgeline
