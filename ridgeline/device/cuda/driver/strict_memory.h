// ridgeline/device/cuda/driver/strict_memory.h
//
// Device memory for the recording driver: addresses are reserved pages that the host cannot access; the bytes are kept
// elsewhere. New memory is filled with 0xff, so that floats that were never written are NaN. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "ridgeline/device/cuda/driver/types.h"

namespace ridgeline::cuda {

class StrictMemory {
 public:
  StrictMemory() = default;
  ~StrictMemory();
  StrictMemory(const StrictMemory&) = delete;
  StrictMemory& operator=(const StrictMemory&) = delete;

  // 0 if the host does not have that much.
  DeviceAddress reserve(std::size_t bytes);
  // False if no block begins there.
  bool release(DeviceAddress address);
  // The host address of a range; null, with the reason in `problem`, if it is not inside one block.
  void* translate(DeviceAddress address, std::size_t bytes, std::string* problem) const;
  // Whether it is one of this device's addresses.
  bool holds(DeviceAddress address) const;
  std::size_t bytes() const;  // in all blocks

 private:
  struct Block {
    std::size_t bytes;
    std::size_t pages;  // bytes, rounded up to whole pages
    char* store;
  };
  std::map<DeviceAddress, Block>::const_iterator block_of(DeviceAddress address) const;

  mutable std::mutex mutex_;
  std::map<DeviceAddress, Block> blocks_;
  std::size_t bytes_ = 0;
};

}  // namespace ridgeline::cuda
