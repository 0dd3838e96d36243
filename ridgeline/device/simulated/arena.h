// ridgeline/device/simulated/arena.h
//
// The address space of the simulated device: for every block a reserved range, whose addresses are given out but cannot
// be accessed, and the bytes for it. Also the blocks of the host's memory that count as pinned. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace ridgeline {

class SimulatedArena {
 public:
  // An Error if there is no memory left.
  char* reserve(std::size_t bytes);
  void release(char* address);
  // The host address of a device range; an Error if it is not inside one block.
  void* translate(const void* address, std::size_t bytes, const std::string& what) const;
  void refuse_device_address(const void* address, const std::string& what) const;

  void pin(const char* address, std::size_t bytes);
  void unpin(const char* address);
  bool pinned(const void* address, std::size_t bytes) const;

 private:
  struct Block {
    std::size_t bytes;
    std::size_t pages;  // bytes, rounded up to whole pages
    char* store;
  };
  mutable std::mutex mutex_;
  std::map<char*, Block> blocks_;
  std::map<const char*, std::size_t> pinned_;
};

}  // namespace ridgeline
