#include "ridgeline/format/wire/index_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "ridgeline/core/bytes.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"
#include "ridgeline/format/wire/crc32c.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

// Layout: magic, u64 size, u64 version (modification time in ns), u64 length of the name, name, payload, u32 CRC-32C of
// all before.
constexpr std::size_t kTrailer = 4;
constexpr std::uint64_t kMostBesides = 1 << 20;  // the key, and what counts in a tiny file

void put(std::string& out, std::uint64_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof(value)); }

std::uint32_t checksum(std::string_view bytes) { return crc32c(as_bytes(bytes)); }

// All bytes before the payload: equal keys, equal bytes.
std::string key_of(const IndexedFile& file, const IndexKind& kind) {
  std::string key(kind.magic);
  put(key, file.size);
  put(key, file.version);
  put(key, file.name.size());
  return key + file.name;
}

constexpr std::size_t kHashDigits = 16;  // of the name, before the suffix

std::string cache_file(const std::string& directory, const IndexedFile& file, const IndexKind& kind) {
  std::array<char, kHashDigits + 1> name{};
  std::snprintf(name.data(), name.size(), "%016llx", static_cast<unsigned long long>(hash64(file.name)));
  return (fs::path(directory) / (std::string(name.data()) + std::string(kind.suffix))).string();
}

bool is_cache_file(std::string_view name) {
  const std::size_t digits = name.find_first_not_of("0123456789abcdef");
  return digits == kHashDigits && name[digits] == '.';
}

// The file's time is that of its last use. A run over thousands of files does not write it each time.
void note_use(const std::string& file) {
  std::error_code ignored;
  const auto now = fs::file_time_type::clock::now();
  if (now - fs::last_write_time(file, ignored) > std::chrono::minutes(10)) fs::last_write_time(file, now, ignored);
}

}  // namespace

std::optional<IndexedFile> indexed_file(const std::string& path, std::uint64_t size) {
  struct stat info {};
  std::error_code error;
  const std::string absolute = fs::absolute(path, error).lexically_normal().string();
  if (error || ::stat(path.c_str(), &info) != 0 || static_cast<std::uint64_t>(info.st_size) != size)
    return std::nullopt;
  return IndexedFile{absolute, size,
                     static_cast<std::uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000u +
                         static_cast<std::uint64_t>(info.st_mtim.tv_nsec)};
}

std::optional<std::string> load_index_cache(const std::string& directory, const std::optional<IndexedFile>& of,
                                            const IndexKind& kind) {
  if (!of) return std::nullopt;
  const std::string file = cache_file(directory, *of, kind);
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  // An index is far smaller than its file. One that is not smaller is damaged or not an index, and is not read into
  // memory.
  if (const std::uintmax_t size = fs::file_size(file, error); error || size > of->size + kMostBesides)
    return std::nullopt;
  std::string content;
  try {
    content = read_file(file);
  } catch (const Error&) {
    return std::nullopt;
  }
  const std::string key = key_of(*of, kind);
  if (content.size() < key.size() + kTrailer || !content.starts_with(key)) return std::nullopt;
  std::uint32_t stored = 0;
  std::memcpy(&stored, content.data() + content.size() - kTrailer, kTrailer);
  content.resize(content.size() - kTrailer);
  if (stored != checksum(content)) return std::nullopt;
  content.erase(0, key.size());
  note_use(file);
  return content;
}

void store_index_cache(const std::string& directory, const std::optional<IndexedFile>& of, const IndexKind& kind,
                       std::string_view payload) {
  if (!of) return;
  std::string content = key_of(*of, kind);
  content += payload;
  const std::uint32_t crc = checksum(content);
  content.append(reinterpret_cast<const char*>(&crc), sizeof(crc));
  std::error_code ignored;
  fs::create_directories(directory, ignored);
  try {
    write_file_atomically(cache_file(directory, *of, kind), content);
  } catch (const Error&) {
    return;  // a read-only or full disk costs the next run its index, nothing else
  }
}

void prune_index_cache(const std::string& directory, std::uint64_t limit) {
  prune_cache_folder(directory, limit, is_cache_file);
}

void prune_cache_folder(const std::string& directory, std::uint64_t limit,
                        const std::function<bool(std::string_view name)>& belongs, std::string_view keep) {
  struct CacheFile {
    fs::file_time_type used;
    fs::path path;
    std::uint64_t bytes = 0;
  };
  std::vector<CacheFile> files;
  std::uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (!belongs(at->path().filename().native()) || !at->is_regular_file(gone)) continue;
    const std::uint64_t bytes = at->file_size(gone);
    if (gone) continue;
    const fs::file_time_type used = at->last_write_time(gone);
    if (gone) continue;
    total += bytes;
    if (at->path().filename().native() != keep) files.push_back({used, at->path(), bytes});
  }
  if (total <= limit) return;
  std::sort(files.begin(), files.end(), [](const CacheFile& a, const CacheFile& b) { return a.used < b.used; });
  for (const CacheFile& file : files) {
    if (total <= limit) return;
    std::error_code not_removed;
    if (fs::remove(file.path, not_removed)) total -= file.bytes;
  }
}

}  // namespace ridgeline
