#include "ridgeline/format/tfrecord_index.h"

#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "ridgeline/format/crc32c.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

// Layout: magic, u64 size, i64 modification time in ns, u64 length of the path, path, u64 count of offsets, offsets,
// u32 CRC-32C of all before.
constexpr std::string_view kMagic = "RDGIDX01";
constexpr std::size_t kTrailer = 4;

void put(std::string& out, std::uint64_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof(value)); }

std::uint32_t checksum(std::string_view bytes) {
  return crc32c({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

// All that comes before the offsets: equal keys, equal bytes. Empty if the file is not there.
std::string key_of(const std::string& path, std::uint64_t file_size) {
  struct stat info {};
  std::error_code error;
  const std::string absolute = fs::absolute(path, error).lexically_normal().string();
  if (error || ::stat(path.c_str(), &info) != 0) return "";
  if (static_cast<std::uint64_t>(info.st_size) != file_size) return "";
  std::string key(kMagic);
  put(key, file_size);
  put(key, static_cast<std::uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000u +
               static_cast<std::uint64_t>(info.st_mtim.tv_nsec));
  put(key, absolute.size());
  return key + absolute;
}

std::string cache_file(const std::string& directory, const std::string& path) {
  std::error_code error;
  std::array<char, 17> name{};
  std::snprintf(name.data(), name.size(), "%016llx",
                static_cast<unsigned long long>(hash64(fs::absolute(path, error).lexically_normal().string())));
  return (fs::path(directory) / (std::string(name.data()) + ".tfrecord-index")).string();
}

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
  const std::string file = cache_file(directory, path);
  std::error_code error;
  if (!fs::exists(file, error)) return std::nullopt;
  std::string content;
  try {
    content = read_file(file);
  } catch (const Error&) {
    return std::nullopt;
  }
  const std::string key = key_of(path, file_size);
  const std::size_t head = key.size() + sizeof(std::uint64_t);
  if (key.empty() || content.size() < head + kTrailer || !content.starts_with(key)) return std::nullopt;
  std::uint64_t count = 0;
  std::memcpy(&count, content.data() + key.size(), sizeof(count));
  const std::size_t body = content.size() - head - kTrailer;
  if (body % sizeof(std::uint64_t) != 0 || count != body / sizeof(std::uint64_t)) return std::nullopt;
  std::uint32_t stored = 0;
  std::memcpy(&stored, content.data() + content.size() - kTrailer, kTrailer);
  if (stored != checksum(std::string_view(content).substr(0, content.size() - kTrailer))) return std::nullopt;
  std::vector<std::uint64_t> offsets(static_cast<std::size_t>(count));
  if (body > 0) std::memcpy(offsets.data(), content.data() + head, body);
  if (!plausible(offsets, file_size)) return std::nullopt;
  return offsets;
}

void store_tfrecord_index(const std::string& directory, const std::string& path,
                          const std::vector<std::uint64_t>& offsets) {
  std::string content = key_of(path, offsets.back());
  if (content.empty()) return;
  put(content, offsets.size());
  content.append(reinterpret_cast<const char*>(offsets.data()), offsets.size() * sizeof(std::uint64_t));
  const std::uint32_t crc = checksum(content);
  content.append(reinterpret_cast<const char*>(&crc), sizeof(crc));
  std::error_code ignored;
  fs::create_directories(directory, ignored);
  try {
    write_file_atomically(cache_file(directory, path), content);
  } catch (const Error&) {
    return;  // a read-only or full disk costs the next run its index, nothing else
  }
}

}  // namespace ridgeline
