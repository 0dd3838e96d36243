#include "ridgeline/data/runtime/rows/jpeg_indices.h"

namespace ridgeline::data {

image::JpegIndex JpegIndices::find(std::uint64_t record) const {
  const Part& part = parts_[record % kParts];
  const std::lock_guard lock(part.mutex);
  const auto found = part.records.find(record);
  if (found == part.records.end()) return {};
  return image::JpegIndex::parse(found->second).value_or(image::JpegIndex());
}

void JpegIndices::keep(std::uint64_t record, const image::JpegIndex& index) {
  std::vector<std::uint8_t> bytes = index.serialize();
  Part& part = parts_[record % kParts];
  const std::lock_guard lock(part.mutex);
  const auto found = part.records.find(record);
  const auto before = found == part.records.end() ? -kOverhead : static_cast<std::int64_t>(found->second.size());
  const auto more = static_cast<std::int64_t>(bytes.size()) - before;
  if (more <= 0) return;  // another worker knew more
  if (bytes_.fetch_add(more) + more > memory_limit_) {
    bytes_.fetch_sub(more);
    return;
  }
  if (found == part.records.end())
    part.records.emplace(record, std::move(bytes));
  else
    found->second = std::move(bytes);
}

std::int64_t JpegIndices::count() const {
  std::int64_t count = 0;
  for (const Part& part : parts_) {
    const std::lock_guard lock(part.mutex);
    count += static_cast<std::int64_t>(part.records.size());
  }
  return count;
}

}  // namespace ridgeline::data
