// ridgeline/train/pinned_slots.h
//
// Batch slots of the data engine in pinned memory, from which a device copies them asynchronously.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "ridgeline/data/runtime/allocator.h"
#include "ridgeline/device/device.h"

namespace ridgeline::train {

class PinnedSlots final : public data::BatchAllocator {
 public:
  explicit PinnedSlots(Device& device) : device_(device) {}
  void* allocate(std::size_t bytes, std::size_t /*alignment*/) override {
    std::unique_ptr<DeviceMemory> memory = device_.allocate_pinned(bytes);
    void* const address = memory->address();
    const std::lock_guard lock(mutex_);
    memory_[address] = std::move(memory);
    return address;
  }
  void release(void* memory) override {
    const std::lock_guard lock(mutex_);
    memory_.erase(memory);
  }

 private:
  Device& device_;
  std::mutex mutex_;  // a batch may be released by any thread
  std::map<void*, std::unique_ptr<DeviceMemory>> memory_;
};

}  // namespace ridgeline::train
