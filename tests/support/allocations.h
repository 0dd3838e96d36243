// tests/support/allocations.h
//
// Counts what is taken from the heap, on all threads of the program. For tests that are linked with allocations.cpp,
// which stands in front of malloc, its relatives and operator new. Sanitizers have a heap of their own: under them
// nothing is counted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ridgeline {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kAllocationsAreCounted = false;
#else
constexpr bool kAllocationsAreCounted = true;
#endif

struct Allocations {
  std::int64_t objects = 0;  // by operator new
  std::int64_t blocks = 0;   // all of them
  std::size_t largest = 0;   // bytes of one
};

// From its beginning on; one at a time.
class AllocationCount {
 public:
  AllocationCount();
  // Ends it.
  Allocations end();
};

}  // namespace ridgeline
