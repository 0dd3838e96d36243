// ridgeline/device/cpu/lines.h
//
// Memory that one thread of a team writes while the others write theirs lies in lines of its own: where two threads
// write to one line, every store waits until the other's processor has given it up, which made updates of dense weights
// up to a quarter slower, depending on where the heap had put their pointers.
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

// A vector whose elements share no line with anything else.
template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

// A value that shares none, as an element of a vector with one for each thread.
template <class T>
struct alignas(kApartBytes) Apart {
  T value{};
};

}  // namespace ridgeline::device
