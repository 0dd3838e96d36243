#include "ridgeline/data/sample/jpeg_index_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "ridgeline/format/wire/index_cache.h"
#include "ridgeline/image/jpeg/index.h"

namespace ridgeline::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeaderBytes = 1024;  // of a JPEG, for its key
constexpr const char* kPrefix = "jpeg-";
constexpr const char* kSuffix = ".ridge";
constexpr std::int64_t kRowOverhead = 64;  // key, table entry and alignment in the file

PackedSchema index_schema() { return {{{"jpeg_index", DType::bytes, Shape{}}}, {}}; }

bool is_index_file(std::string_view name) { return name.starts_with(kPrefix) && name.ends_with(kSuffix); }

}  // namespace

std::uint64_t jpeg_content_key(std::span<const std::uint8_t> bytes) {
  return image::jpeg_fingerprint(bytes, std::min(bytes.size(), kHeaderBytes));
}

JpegIndexFile::JpegIndexFile(const std::string& path) : file_(path) {
  if (file_.schema() != index_schema() || file_.size() == 0) throw Error(path + " holds no JPEG indices");
  const PackedRow row = file_.row(0);
  const std::span<const std::uint8_t> keys = row[0].bytes;
  if (keys.size() != (file_.size() - 1) * sizeof(std::uint64_t)) throw Error(path + " has keys of other indices");
  rows_.reserve(file_.size());
  for (std::size_t i = 0; i + 1 < file_.size(); ++i) {
    std::uint64_t key = 0;
    std::memcpy(&key, keys.data() + i * sizeof key, sizeof key);
    rows_.emplace(key, i + 1);
  }
}

bool JpegIndexFile::read(std::uint64_t key, std::vector<std::uint8_t>& bytes) const {
  const auto found = rows_.find(key);
  if (found == rows_.end()) return false;
  const PackedRow row = file_.row(found->second);
  bytes.assign(row[0].bytes.begin(), row[0].bytes.end());
  return true;
}

std::vector<std::uint64_t> JpegIndexFile::keys() const {
  std::vector<std::uint64_t> keys;
  keys.reserve(rows_.size());
  for (const auto& [key, row] : rows_) keys.push_back(key);
  std::sort(keys.begin(), keys.end());  // files are the same for the same content
  return keys;
}

std::string jpeg_index_path(const std::string& directory, const std::string& sources) {
  return fmt::format("{}/{}{:016x}{}", directory, kPrefix, hash64(sources), kSuffix);
}

void write_jpeg_index_file(const JpegIndexPlace& place, std::vector<JpegIndexEntry> entries, Log* log) {
  // For a picture in several records, the most complete index.
  std::sort(entries.begin(), entries.end(), [](const JpegIndexEntry& a, const JpegIndexEntry& b) {
    return a.first != b.first ? a.first < b.first : a.second.size() > b.second.size();
  });
  std::int64_t total = 0;
  std::set<std::uint64_t> known;
  const auto room = [&](std::size_t bytes) {
    total += static_cast<std::int64_t>(bytes) + kRowOverhead;
    return total <= place.limit;
  };
  std::erase_if(entries,
                [&](const JpegIndexEntry& e) { return !known.insert(e.first).second || !room(e.second.size()); });
  // Another run may have written since this one began: its file is read now.
  std::error_code ignored;
  if (fs::exists(place.path, ignored)) {
    try {
      const JpegIndexFile before(place.path);
      std::vector<std::uint8_t> bytes;
      for (const std::uint64_t key : before.keys()) {
        if (known.contains(key)) continue;
        before.read(key, bytes);
        if (!room(bytes.size())) break;
        entries.emplace_back(key, bytes);
      }
    } catch (const Error& e) {
      if (log) log->warning(fmt::format("JPEG indices are kept anew: {}", e.what()));
    }
  }
  try {
    make_directories(fs::path(place.path).parent_path().string());
    PackedWriter writer(place.path, index_schema());
    std::vector<std::uint64_t> keys;
    keys.reserve(entries.size());
    for (const auto& [key, index] : entries) keys.push_back(key);
    const PackedValue first{{reinterpret_cast<const std::uint8_t*>(keys.data()), keys.size() * sizeof(std::uint64_t)}};
    writer.add({&first, 1});
    for (const auto& [key, index] : entries) {
      const PackedValue value{index};
      writer.add({&value, 1});
    }
    writer.finish();
    // The files of other data sets go first.
    const fs::path path(place.path);
    prune_cache_folder(path.parent_path().string(), static_cast<std::uint64_t>(place.limit), is_index_file,
                       path.filename().native());
  } catch (const Error& e) {
    if (log) log->warning(fmt::format("JPEG indices are not kept for the next run: {}", e.what()));
  }
}

}  // namespace ridgeline::data
