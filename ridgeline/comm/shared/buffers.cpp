#include "ridgeline/comm/shared/buffers.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>

#include "ridgeline/comm/reduce.h"
#include "ridgeline/comm/shared/stores.h"

namespace ridgeline::comm {
namespace {

// Bytes of a rank's values that are combined at a time: sources and result fit the first-level cache.
constexpr std::int64_t kBlockBytes = 1024;
constexpr std::int64_t kAhead = 2048;

std::int64_t in_pages(std::int64_t bytes) {
  const auto page = static_cast<std::int64_t>(kSharedPage);
  return std::max<std::int64_t>(1, (bytes + page - 1) / page) * page;
}

// Prefetches a block: the processor's own prefetch ends at a page.
void ask_for(const std::byte* block) {
  for (std::int64_t line = 0; line < kBlockBytes; line += 64) __builtin_prefetch(block + line);
}

// Elements [begin, end) of every rank's values, combined block by block: give(its first element, the result, bytes).
template <class Give>
void for_each_block(const SharedBuffer& buffer, int size, std::int64_t offset, std::int64_t begin, std::int64_t end,
                    DType type, Reduction how, Give&& give) {
  const auto element = static_cast<std::int64_t>(size_of(type));
  const std::int64_t block = kBlockBytes / element;
  alignas(64) std::array<std::byte, kBlockBytes> result;
  std::array<const void*, kMostSharedRanks> sources;
  for (std::int64_t at = begin; at < end; at += block) {
    const std::int64_t count = std::min(block, end - at);
    for (int r = 0; r < size; ++r) {
      const std::byte* source = buffer.part(r) + offset + at * element;
      sources[static_cast<std::size_t>(r)] = source;
      ask_for(source + kAhead);
    }
    reduce_in_pairs({sources.data(), static_cast<std::size_t>(size)}, result.data(), count, type, how);
    give(at, result.data(), static_cast<std::size_t>(count * element));
  }
}

}  // namespace

SharedBuffer::SharedBuffer(const std::string& name, int rank, int size, std::int64_t bytes, std::uint64_t token,
                           std::chrono::milliseconds timeout, const std::function<void()>& watch)
    : bytes_(in_pages(bytes)),
      segment_(name, rank, size, static_cast<std::size_t>(bytes_ * size), token, timeout, watch) {
  ::madvise(segment_.data(), static_cast<std::size_t>(bytes_ * size), MADV_HUGEPAGE);  // where the system has them
}

SharedBuffers::Place SharedBuffers::find(const void* values, std::int64_t bytes, int rank) const {
  const auto* at = static_cast<const std::byte*>(values);
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const std::shared_ptr<SharedBuffer> buffer = all_[i].lock();
    if (buffer == nullptr) continue;
    const std::byte* begin = buffer->part(rank);
    if (at >= begin && at + bytes <= begin + buffer->bytes())
      return {.buffer = buffer.get(), .number = static_cast<std::int32_t>(i), .offset = at - begin};
  }
  return {};
}

void reduce_parts(const SharedBuffer& buffer, int size, std::int64_t offset, std::int64_t begin, std::int64_t end,
                  DType type, Reduction how) {
  const auto element = static_cast<std::int64_t>(size_of(type));
  for_each_block(buffer, size, offset, begin, end, type, how,
                 [&](std::int64_t at, const std::byte* block, std::size_t bytes) {
                   for (int r = 0; r < size; ++r)
                     store_past_the_caches(buffer.part(r) + offset + at * element, block, bytes);
                 });
  finish_stores();
}

void reduce_part(const SharedBuffer& buffer, int size, std::int64_t offset, std::int64_t begin, std::int64_t end,
                 void* result, DType type, Reduction how) {
  const auto element = static_cast<std::int64_t>(size_of(type));
  auto* to = static_cast<std::byte*>(result);
  for_each_block(buffer, size, offset, begin, end, type, how,
                 [&](std::int64_t at, const std::byte* block, std::size_t bytes) {
                   store_past_the_caches(to + (at - begin) * element, block, bytes);
                 });
  finish_stores();
}

void copy_part(void* to, const std::byte* from, std::int64_t bytes) {
  auto* out = static_cast<std::byte*>(to);
  for (std::int64_t at = 0; at < bytes; at += kBlockBytes) {
    ask_for(from + at + kAhead);
    store_past_the_caches(out + at, from + at, static_cast<std::size_t>(std::min(kBlockBytes, bytes - at)));
  }
  finish_stores();
}

}  // namespace ridgeline::comm
