#include "ridgeline/device/cuda/driver/strict_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace ridgeline::cuda {

StrictMemory::~StrictMemory() {
  for (const auto& [address, block] : blocks_) {
    munmap(block.store, block.pages);
    munmap(reinterpret_cast<void*>(address), block.pages);
  }
}

DeviceAddress StrictMemory::reserve(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  const std::size_t pages = (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  void* range = mmap(nullptr, pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* store = mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (range == MAP_FAILED || store == MAP_FAILED) {
    if (range != MAP_FAILED) munmap(range, pages);
    if (store != MAP_FAILED) munmap(store, pages);
    return 0;
  }
  std::memset(store, 0xff, bytes);
  const auto address = reinterpret_cast<DeviceAddress>(range);
  const std::lock_guard lock(mutex_);
  blocks_[address] = {bytes, pages, static_cast<char*>(store)};
  bytes_ += bytes;
  return address;
}

bool StrictMemory::release(DeviceAddress address) {
  const std::lock_guard lock(mutex_);
  const auto at = blocks_.find(address);
  if (at == blocks_.end()) return false;
  munmap(at->second.store, at->second.pages);
  munmap(reinterpret_cast<void*>(address), at->second.pages);
  bytes_ -= at->second.bytes;
  blocks_.erase(at);
  return true;
}

std::map<DeviceAddress, StrictMemory::Block>::const_iterator StrictMemory::block_of(DeviceAddress address) const {
  auto at = blocks_.upper_bound(address);
  if (at == blocks_.begin()) return blocks_.end();
  --at;
  return address - at->first < at->second.pages ? at : blocks_.end();
}

void* StrictMemory::translate(DeviceAddress address, std::size_t bytes, std::string* problem) const {
  const std::lock_guard lock(mutex_);
  const auto at = block_of(address);
  if (at == blocks_.end()) {
    *problem = fmt::format("{:#x} is no address of the device (a host address, or freed memory?)", address);
    return nullptr;
  }
  const std::size_t offset = address - at->first;
  if (offset > at->second.bytes || bytes > at->second.bytes - offset) {
    *problem = fmt::format("{} bytes at offset {} leave their block of {} bytes", bytes, offset, at->second.bytes);
    return nullptr;
  }
  return at->second.store + offset;
}

bool StrictMemory::holds(DeviceAddress address) const {
  const std::lock_guard lock(mutex_);
  return block_of(address) != blocks_.end();
}

std::size_t StrictMemory::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace ridgeline::cuda
