// ridgeline/data/runtime/allocator.h
//
// Memory for batch slots, which a session passes to the data runtime (pinned if there is a device). The data graph
// itself knows no device.
#pragma once

#include <cstddef>

namespace ridgeline::data {

// Called while an Iterator is built and when its last batch is released; from one thread at a time.
class BatchAllocator {
 public:
  virtual ~BatchAllocator() = default;
  virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
  virtual void release(void* memory) = 0;
};

}  // namespace ridgeline::data
