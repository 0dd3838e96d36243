#include "ridgeline/data/sample/jpeg_indices.h"

namespace ridgeline::data {

image::JpegIndex JpegIndices::find(std::size_t place, std::uint64_t record) const {
  const Part& part = parts_[record % kParts];
  std::vector<std::uint8_t> bytes;  // parsed without the lock
  {
    const std::lock_guard lock(part.mutex);
    const auto found = part.files.find(key(place, record));
    if (found == part.files.end()) return {};
    bytes = found->second;
  }
  return image::JpegIndex::parse(bytes).value_or(image::JpegIndex());
}

void JpegIndices::keep(std::size_t place, std::uint64_t record, const image::JpegIndex& index) {
  std::vector<std::uint8_t> bytes = index.serialize();
  Part& part = parts_[record % kParts];
  const std::lock_guard lock(part.mutex);
  const auto found = part.files.find(key(place, record));
  const auto before = found == part.files.end() ? -kOverhead : static_cast<std::int64_t>(found->second.size());
  const auto more = static_cast<std::int64_t>(bytes.size()) - before;
  if (more <= 0) return;  // another worker knew more
  if (bytes_.fetch_add(more) + more > memory_limit_) {
    bytes_.fetch_sub(more);
    return;
  }
  if (found == part.files.end())
    part.files.emplace(key(place, record), std::move(bytes));
  else
    found->second = std::move(bytes);
}

std::int64_t JpegIndices::count() const {
  std::int64_t count = 0;
  for (const Part& part : parts_) {
    const std::lock_guard lock(part.mutex);
    count += static_cast<std::int64_t>(part.files.size());
  }
  return count;
}

}  // namespace ridgeline::data
