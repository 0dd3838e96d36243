#include "ridgeline/device/simulated/arena.h"

#include <sys/mman.h>

#include <algorithm>

#include "ridgeline/core/error.h"

namespace ridgeline {

char* SimulatedArena::reserve(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  const std::size_t pages = (std::max<std::size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  void* range = mmap(nullptr, pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* store = mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (range == MAP_FAILED || store == MAP_FAILED) {
    if (range != MAP_FAILED) munmap(range, pages);
    if (store != MAP_FAILED) munmap(store, pages);
    throw Error("not enough memory: " + std::to_string(bytes) + " bytes are wanted for the simulated device");
  }
  const std::lock_guard lock(mutex_);
  blocks_[static_cast<char*>(range)] = {bytes, pages, static_cast<char*>(store)};
  return static_cast<char*>(range);
}

void SimulatedArena::release(char* address) {
  const std::lock_guard lock(mutex_);
  const auto at = blocks_.find(address);
  munmap(at->second.store, at->second.pages);
  munmap(at->first, at->second.pages);
  blocks_.erase(at);
}

void* SimulatedArena::translate(const void* address, std::size_t bytes, const std::string& what) const {
  const auto* wanted = static_cast<const char*>(address);
  const std::lock_guard lock(mutex_);
  auto at = blocks_.upper_bound(const_cast<char*>(wanted));
  if (at != blocks_.begin()) {
    --at;
    const auto offset = static_cast<std::size_t>(wanted - at->first);
    if (offset <= at->second.bytes && bytes <= at->second.bytes - offset) return at->second.store + offset;
    if (offset < at->second.pages) {
      throw Error("[simulated] " + what + " of " + std::to_string(bytes) + " bytes at offset " +
                  std::to_string(offset) + " leaves its block of " + std::to_string(at->second.bytes) + " bytes");
    }
  }
  throw Error("[simulated] " + what + " is not an address of the device (a host address?)");
}

void SimulatedArena::refuse_device_address(const void* address, const std::string& what) const {
  const auto* wanted = static_cast<const char*>(address);
  const std::lock_guard lock(mutex_);
  auto at = blocks_.upper_bound(const_cast<char*>(wanted));
  if (at == blocks_.begin()) return;
  --at;
  if (static_cast<std::size_t>(wanted - at->first) < at->second.pages) {
    throw Error("[simulated] " + what + " is an address of the device, where the host's is meant");
  }
}

void SimulatedArena::pin(const char* address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  pinned_[address] = bytes;
}

void SimulatedArena::unpin(const char* address) {
  const std::lock_guard lock(mutex_);
  pinned_.erase(address);
}

bool SimulatedArena::pinned(const void* address, std::size_t bytes) const {
  const auto* wanted = static_cast<const char*>(address);
  const std::lock_guard lock(mutex_);
  auto at = pinned_.upper_bound(wanted);
  if (at == pinned_.begin()) return false;
  --at;
  const auto offset = static_cast<std::size_t>(wanted - at->first);
  return offset <= at->second && bytes <= at->second - offset;
}

}  // namespace ridgeline
