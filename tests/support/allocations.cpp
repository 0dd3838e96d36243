#include "tests/support/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace ridgeline {
namespace {

std::atomic<bool> counting{false};
std::atomic<std::int64_t> objects{0}, blocks{0};
std::atomic<std::size_t> largest{0};

}  // namespace

AllocationCount::AllocationCount() {
  objects = 0;
  blocks = 0;
  largest = 0;
  counting = true;
}

Allocations AllocationCount::end() {
  counting = false;
  return {objects, blocks, largest};
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

void count_block(std::size_t bytes) {
  if (!counting.load(std::memory_order_relaxed)) return;
  blocks.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t seen = largest.load(std::memory_order_relaxed);
       bytes > seen && !largest.compare_exchange_weak(seen, bytes, std::memory_order_relaxed);) {
  }
}

void* object(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  if (counting.load(std::memory_order_relaxed)) objects.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

}  // namespace

#endif

}  // namespace ridgeline

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// glibc's own functions under names that always exist: free() accepts what they return.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t n, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) noexcept {
  ridgeline::count_block(bytes);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t n, std::size_t bytes) noexcept {
  ridgeline::count_block(n * bytes);
  return __libc_calloc(n, bytes);
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  ridgeline::count_block(bytes);
  return __libc_realloc(memory, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  ridgeline::count_block(bytes);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept { return memalign(alignment, bytes); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  void* const made = memalign(alignment, bytes);
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}
}

// Array and nothrow versions call these.
void* operator new(std::size_t bytes) { return ridgeline::object(std::malloc(bytes)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return ridgeline::object(::aligned_alloc(static_cast<std::size_t>(alignment), bytes));
}

#endif
