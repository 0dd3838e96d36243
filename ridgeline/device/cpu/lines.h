// ridgeline/device/cpu/lines.h
//
// Keeps memory that different threads write at the same time in separate cache lines: if two threads write to one line,
// every store waits for the other core to release it. That made updates of dense weights up to a quarter slower,
// depending on where the heap had put their pointers.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace ridgeline::device {

constexpr std::size_t kApartBytes = 128;  // processors fetch lines in pairs

template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class Other>
  LineAllocator(const LineAllocator<Other>&) {}

  T* allocate(std::size_t n) {
    const std::size_t bytes = (n * sizeof(T) + kApartBytes - 1) / kApartBytes * kApartBytes;
    return static_cast<T*>(::operator new(bytes, std::align_val_t{kApartBytes}));
  }
  void deallocate(T* at, std::size_t) { ::operator delete(at, std::align_val_t{kApartBytes}); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};

// A vector whose elements share no cache line with other data.
template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

// A value in cache lines of its own, for vectors with one element per thread.
template <class T>
struct alignas(kApartBytes) Apart {
  T value{};
};

}  // namespace ridgeline::device
