#include "ridgeline/device/cuda/driver/memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace ridgeline::cuda {

Memory::Memory(std::shared_ptr<Context> context, std::size_t bytes, std::string_view what)
    : context_(std::move(context)), bytes_(bytes) {
  context_->enter();
  const Result code =
      context_->calls().answer("cuMemAlloc", &Driver::allocate, &address_, std::max<std::size_t>(bytes, 1));
  if (code == result::kOutOfMemory) {
    throw DriverError(
        fmt::format("[cuda] not enough memory on {}: {} bytes are wanted for {}, {} of {} are free",
                    context_->info().name, bytes, what, context_->free_bytes(), context_->info().memory_bytes),
        code);
  }
  if (code != result::kSuccess) context_->calls().fail("cuMemAlloc", fmt::format("{} bytes for {}", bytes, what), code);
}

Memory::~Memory() { context_->release("cuMemFree", &Driver::release, address_); }

PinnedMemory::PinnedMemory(std::shared_ptr<Context> context, std::size_t bytes)
    : context_(std::move(context)), bytes_(bytes) {
  context_->make("cuMemHostAlloc", fmt::format("{} bytes of pinned memory", bytes), &Driver::allocate_pinned, &address_,
                 std::max<std::size_t>(bytes, 1));
}

PinnedMemory::~PinnedMemory() { context_->release("cuMemFreeHost", &Driver::release_pinned, address_); }

}  // namespace ridgeline::cuda
