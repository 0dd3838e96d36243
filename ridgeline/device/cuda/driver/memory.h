// ridgeline/device/cuda/driver/memory.h
//
// Memory of a card, and pinned memory of the host, which copies read and write directly. Freed with the object, which
// waits for the card.
#pragma once

#include <memory>
#include <string_view>

#include "ridgeline/device/cuda/driver/context.h"

namespace ridgeline::cuda {

class Memory {
 public:
  // If there is not enough, an Error with the requested and the free bytes. `what` is for that message.
  Memory(std::shared_ptr<Context> context, std::size_t bytes, std::string_view what);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  DeviceAddress address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Context> context_;
  std::size_t bytes_;
  DeviceAddress address_ = 0;
};

class PinnedMemory {
 public:
  PinnedMemory(std::shared_ptr<Context> context, std::size_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  void* address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Context> context_;
  std::size_t bytes_;
  void* address_ = nullptr;
};

}  // namespace ridgeline::cuda
