#include "ridgeline/data/sample/jpeg_indices.h"

#include <fmt/format.h>

#include <filesystem>

namespace ridgeline::data {

JpegIndices::JpegIndices(std::int64_t memory_limit, JpegIndexPlace disk, bool make, Log* log)
    : memory_limit_(memory_limit), disk_(std::move(disk)), make_(make), log_(log) {
  std::error_code ignored;
  if (disk_.path.empty() || !std::filesystem::exists(disk_.path, ignored)) return;
  try {
    file_ = std::make_unique<const JpegIndexFile>(disk_.path);
    // The oldest files go first when there are too many: this one is in use.
    std::filesystem::last_write_time(disk_.path, std::filesystem::file_time_type::clock::now(), ignored);
  } catch (const Error& e) {
    give_up_file(e);
  }
}

void JpegIndices::give_up_file(const Error& damage) const {
  if (damaged_.exchange(true)) return;
  std::error_code ignored;
  std::filesystem::remove(disk_.path, ignored);
  if (log_) log_->warning(fmt::format("JPEG indices of an earlier run are removed and made anew: {}", damage.what()));
}

image::JpegIndex JpegIndices::find(std::size_t place, std::uint64_t record, std::span<const std::uint8_t> bytes) const {
  const Part& part = parts_[record % kParts];
  std::vector<std::uint8_t> found;  // parsed without the lock
  {
    const std::lock_guard lock(part.mutex);
    if (const auto entry = part.files.find(key(place, record)); entry != part.files.end()) found = entry->second.bytes;
  }
  if (found.empty() && file_ && !damaged_.load(std::memory_order_relaxed)) {
    try {
      file_->read(jpeg_content_key(bytes), found);
    } catch (const Error& e) {
      give_up_file(e);
    }
  }
  return image::JpegIndex::parse(found).value_or(image::JpegIndex());
}

void JpegIndices::keep(std::size_t place, std::uint64_t record, std::span<const std::uint8_t> bytes,
                       const image::JpegIndex& index) {
  Entry made{disk_.path.empty() ? 0 : jpeg_content_key(bytes), index.serialize()};
  Part& part = parts_[record % kParts];
  const std::lock_guard lock(part.mutex);
  const auto found = part.files.find(key(place, record));
  const auto before = found == part.files.end() ? -kOverhead : static_cast<std::int64_t>(found->second.bytes.size());
  const auto more = static_cast<std::int64_t>(made.bytes.size()) - before;
  if (more <= 0) return;  // another worker knew more
  if (bytes_.fetch_add(more) + more > memory_limit_) {
    bytes_.fetch_sub(more);
    return;
  }
  unsaved_ += more;
  if (found == part.files.end())
    part.files.emplace(key(place, record), std::move(made));
  else
    found->second = std::move(made);
}

void JpegIndices::save() {
  if (disk_.path.empty() || unsaved_ == 0 || unsaved_ < disk_.least) return;
  unsaved_ = 0;
  std::vector<JpegIndexEntry> entries;
  for (const Part& part : parts_) {
    const std::lock_guard lock(part.mutex);
    for (const auto& [file, entry] : part.files) entries.emplace_back(entry.content, entry.bytes);
  }
  write_jpeg_index_file(disk_, std::move(entries), log_);
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
