#include "ridgeline/format/record/tfrecord_index.h"

#include <cstring>

#include "ridgeline/format/wire/index_cache.h"

namespace ridgeline {
namespace {

// Payload: u64 count of offsets, offsets.
constexpr IndexKind kKind{"RDGIDX01", ".tfrecord-index"};
constexpr std::size_t kWord = sizeof(std::uint64_t);

bool plausible(const std::vector<std::uint64_t>& offsets, std::uint64_t file_size) {
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != file_size) return false;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1] || offsets[i] - offsets[i - 1] < 16) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<std::uint64_t>> load_tfrecord_index(const std::string& directory, const std::string& path,
                                                              std::uint64_t file_size) {
  const auto payload = load_index_cache(directory, indexed_file(path, file_size), kKind);
  if (!payload || payload->size() < kWord || payload->size() % kWord != 0) return std::nullopt;
  std::uint64_t count = 0;
  std::memcpy(&count, payload->data(), kWord);
  if (count != payload->size() / kWord - 1) return std::nullopt;
  std::vector<std::uint64_t> offsets(static_cast<std::size_t>(count));
  if (count > 0) std::memcpy(offsets.data(), payload->data() + kWord, payload->size() - kWord);
  if (!plausible(offsets, file_size)) return std::nullopt;
  return offsets;
}

void store_tfrecord_index(const std::string& directory, const std::string& path,
                          const std::vector<std::uint64_t>& offsets) {
  const std::uint64_t count = offsets.size();
  std::string payload(reinterpret_cast<const char*>(&count), kWord);
  payload.append(reinterpret_cast<const char*>(offsets.data()), offsets.size() * kWord);
  store_index_cache(directory, indexed_file(path, offsets.back()), kKind, payload);
}

}  // namespace ridgeline
