// ridgeline/comm/shared/buffers.h
//
// Memory that every rank has a view of: collectives on values that lie in it read and write the others' directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ridgeline/comm/communicator.h"
#include "ridgeline/comm/shared/segment.h"

namespace ridgeline::comm {

// One allocation: the parts of all ranks, one behind the other, in each rank's address space at a place of its own.
class SharedBuffer {
 public:
  SharedBuffer(const std::string& name, int rank, int size, std::int64_t bytes, std::uint64_t token,
               std::chrono::milliseconds timeout, const std::function<void()>& watch);

  std::byte* part(int rank) const { return segment_.data() + rank * bytes_; }
  std::int64_t bytes() const { return bytes_; }  // of a part: whole pages

 private:
  std::int64_t bytes_;
  SharedSegment segment_;
};

// Which of a communicator's buffers some values lie in.
class SharedBuffers {
 public:
  struct Place {
    const SharedBuffer* buffer = nullptr;  // nullptr: in none
    std::int32_t number = -1;              // of the allocation
    std::int64_t offset = 0;               // within the rank's part
  };

  void add(const std::shared_ptr<SharedBuffer>& buffer) { all_.push_back(buffer); }
  int count() const { return static_cast<int>(all_.size()); }
  Place find(const void* values, std::int64_t bytes, int rank) const;

 private:
  std::vector<std::weak_ptr<SharedBuffer>> all_;  // in the order of the allocations; those given back are empty
};

// Elements [begin, end) of every rank's values, which lie `offset` bytes into its part, combined (reduce.h) and written
// to all ranks. Stores pass by the caches: what is larger than them is read again only after it was evicted.
void reduce_parts(const SharedBuffer& buffer, int size, std::int64_t offset, std::int64_t begin, std::int64_t end,
                  DType type, Reduction how);
// The same, written to `result` alone.
void reduce_part(const SharedBuffer& buffer, int size, std::int64_t offset, std::int64_t begin, std::int64_t end,
                 void* result, DType type, Reduction how);
// `bytes` of another rank's values.
void copy_part(void* to, const std::byte* from, std::int64_t bytes);

}  // namespace ridgeline::comm
