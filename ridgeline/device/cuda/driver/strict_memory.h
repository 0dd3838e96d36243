// ridgeline/device/cuda/driver/strict_memory.h
//
// Device memory for the recording driver: addresses are reserved pages that the host cannot touch, the bytes are kept
// elsewhere. Fresh memory holds bytes of 0xff, so that floats which nobody wrote are NaN. Thread-safe.
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

  // 0 where the host has not that much.
  DeviceAddress reserve(std::size_t bytes);
  // False where no block begins there.
  bool release(DeviceAddress address);
  // Where the bytes of a range are; null, and why in `problem`, where it does not lie inside one block.
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
