// ridgeline/data/runtime/allocator.h
//
// What a session injects into the data runtime: memory for batch slots (pinned where there is a device). The data graph
// knows no device.
#pragma once

#include <cstddef>

namespace ridgeline::data {

// Called while an Iterator is built and when the last of its batches is gone; from one thread at a time.
class BatchAllocator {
 public:
  virtual ~BatchAllocator() = default;
  virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;
  virtual void release(void* memory) = 0;
};

}  // namespace ridgeline::data
