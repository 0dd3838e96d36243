#include "ridgeline/comm/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ridgeline/core/error.h"

namespace ridgeline::comm {

std::shared_ptr<void> own_pages(std::int64_t bytes) {
  const std::size_t pages = std::max<std::size_t>(1, (static_cast<std::size_t>(bytes) + 4095) / 4096);
  void* memory = std::aligned_alloc(4096, pages * 4096);
  if (memory == nullptr) throw Error(fmt::format("[ranks] no memory for {} bytes", bytes));
  std::memset(memory, 0, pages * 4096);
  return {memory, std::free};
}

}  // namespace ridgeline::comm
