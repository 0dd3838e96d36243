// ridgeline/comm/shared/buffers.h
//
// Memory that every rank can see: collectives on values in it read and write the other ranks' values directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ridgeline/comm/communicator.h"
#include "ridgeline/comm/shared/segment.h"

namespace ridgeline::comm {

// One allocation: the regions of all ranks, contiguous, mapped at a different address in each rank.
class SharedBuffer {
 public:
  SharedBuffer(const std::string& name, int rank, int size, std::int64_t bytes, std::uint64_t token,
               std::chrono::milliseconds timeout, const std::function<void()>& watch);

  std::byte* part(int rank) const { return segment_.data() + rank * bytes_; }
  std::int64_t bytes() const { return bytes_; }  // of a region: whole pages

 private:
  std::int64_t bytes_;
  SharedSegment segment_;
};

// Finds which of a communicator's buffers contains given values.
class SharedBuffers {
 public:
  struct Place {
    const SharedBuffer* buffer = nullptr;  // nullptr: none
    std::int32_t number = -1;              // of the allocation
    std::int64_t offset = 0;               // within the rank's region
  };

  void add(const std::shared_ptr<SharedBuffer>& buffer) { all_.push_back(buffer); }
  int count() const { return static_cast<int>(all_.size()); }
  Place find(const void* values, std::int64_t bytes, int rank) const;

 private:
  std::vector<std::weak_ptr<SharedBuffer>> all_;  // in the order of the allocations; released ones are empty
};

// Combines elements [begin, end) of every rank's values (reduce.h), which are `offset` bytes into its region, and
// writes them to all ranks. Stores bypass the caches: large results would be evicted before they are read again.
void reduce_parts(const SharedBuffer& buffer, int size, std::int64_t offset, std::int64_t begin, std::int64_t end,
                  DType type, Reduction how);
// The same, written only to `result`.
void reduce_part(const SharedBuffer& buffer, int size, std::int64_t offset, std::int64_t begin, std::int64_t end,
                 void* result, DType type, Reduction how);
// Copies `bytes` bytes of another rank's values.
void copy_part(void* to, const std::byte* from, std::int64_t bytes);

}  // namespace ridgeline::comm
