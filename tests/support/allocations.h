// tests/support/allocations.h
//
// Counts heap allocations of all threads. For tests that are linked with allocations.cpp, which replaces malloc, its
// relatives and operator new. Sanitizers have their own heap: nothing is counted under them.
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
  std::size_t largest = 0;   // bytes of a single allocation
};

// Counts from its construction on; only one at a time.
class AllocationCount {
 public:
  AllocationCount();
  // Stops counting.
  Allocations end();
};

}  // namespace ridgeline
