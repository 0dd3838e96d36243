// ridgeline/format/record/tar.h
//
// Tar archives with random access to their files: POSIX ustar and pax, GNU, v7. Archives of samples (WebDataset) are
// grouped by tar_samples.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/format/wire/stored_file.h"

namespace ridgeline {

class HttpClient;
struct TarHeader;

struct TarOptions {
  // Where the index is kept between runs, keyed by path, size and modification time: a cache directory, or the folder
  // of the archive itself. Empty: nowhere. A cache that cannot be read or written is ignored.
  std::string index_cache_directory;
  // Accept an archive that ends after a whole member, without the two blocks of zeros that mark the end, as a writer
  // leaves it that was killed. Otherwise that is an Error, since members may be missing.
  bool allow_missing_end = false;
  // The client that reads archives from URLs; null: the archive makes its own.
  std::shared_ptr<HttpClient> http = nullptr;
};

// Owns the open file and the index. Members are the plain files, in the archive's order; directories, links, devices
// and volume labels are skipped. Opening walks from header to header (a page a member) and checks every header's
// checksum and that every member lies inside the file. Errors: "[tar] FILE: header at byte 10240 ...". Compressed
// archives, sparse members and data after the end are refused. A file that is cut short afterwards is an Error of the
// members that are gone. The path may be a URL (format/remote/http_file.h): opening then reads 1 MiB at a time, and
// skips longer members. Immutable: any thread may read.
class TarFile {
 public:
  explicit TarFile(const std::string& path, const TarOptions& options = {});

  const std::string& path() const { return file_->path(); }
  std::size_t size() const { return members_.size(); }
  std::string_view name(std::size_t i) const;
  // Offsets of the header that precedes the data of member i, and of the data.
  std::uint64_t header_offset(std::size_t i) const { return at(i).header; }
  std::uint64_t offset(std::size_t i) const { return at(i).header + 512; }
  std::uint64_t length(std::size_t i) const { return at(i).bytes; }
  // The content of member i, which lies in `storage`.
  std::span<const std::uint8_t> member(std::size_t i, std::string& storage) const;
  // The contents of some members, in the order of `wanted`, all in `storage`. Members that lie close together (64 KiB
  // between them at most) are read at once, since every read of an archive at a URL is a round trip to the server.
  void members(std::span<const std::size_t> wanted, std::string& storage,
               std::vector<std::span<const std::uint8_t>>& contents) const;
  // The file's state when it was opened (StoredFile::version).
  std::uint64_t version() const { return file_->version(); }
  bool index_was_cached() const { return index_was_cached_; }

 private:
  // As they are stored in the index cache.
  struct Member {
    std::uint64_t header;
    std::uint64_t bytes;
    std::uint64_t name_at;  // in names_
    std::uint64_t name_bytes;
  };
  const Member& at(std::size_t i) const;
  void build_index(const TarOptions& options);
  // The block that was read last while the index is made.
  struct Ahead {
    std::uint64_t at = 0;
    std::string bytes;
  };
  std::string bytes_at(std::uint64_t at, std::uint64_t most, Ahead& ahead) const;
  void check_end(std::uint64_t at, Ahead& ahead) const;
  std::string checked_block(std::uint64_t at, Ahead& ahead) const;
  struct Announced;
  void read_extended(std::uint64_t at, const TarHeader& header, Announced& announced, Ahead& ahead) const;
  void read_run(std::uint64_t at, std::span<std::uint8_t> into, std::size_t first_member) const;
  void check_member(std::size_t i, std::span<const std::uint8_t> header) const;
  bool load_index(const std::string& directory);
  void store_index(const std::string& directory) const;
  [[noreturn]] void fail(std::uint64_t header, const std::string& problem) const;

  std::unique_ptr<const StoredFile> file_;
  std::vector<Member> members_;
  std::string names_;
  bool index_was_cached_ = false;
};

// Writes a ustar archive, with pax headers for long names and sizes; owners, times and modes are fixed, so equal
// content gives equal bytes. The file appears under its name when finish() has returned. One thread.
class TarWriter {
 public:
  explicit TarWriter(const std::string& path);
  ~TarWriter();
  TarWriter(TarWriter&&) noexcept;
  TarWriter& operator=(TarWriter&&) noexcept;

  // A name that is empty, ends with '/' or holds a NUL is an Error.
  void add(std::string_view name, std::span<const std::uint8_t> content);
  void add(std::string_view name, std::string_view content);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ridgeline
