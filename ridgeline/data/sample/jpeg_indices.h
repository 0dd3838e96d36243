// ridgeline/data/sample/jpeg_indices.h
//
// The indices of a run's JPEGs (image/jpeg/index.h): made when a record is decoded for the first time, used by every
// later epoch, and through a file by later runs, to skip directly to the crop. They change the time of a decode, never
// its pixels. Limited in bytes: once these are used, further records are decoded without an index. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "ridgeline/data/sample/jpeg_index_file.h"
#include "ridgeline/image/jpeg/index.h"

namespace ridgeline::data {

class JpegIndices {
 public:
  // Uses what an earlier run left in `disk`; a damaged file is reported to `log` (may be null) and removed. `make`
  // false: no new indices are made.
  explicit JpegIndices(std::int64_t memory_limit, JpegIndexPlace disk = {}, bool make = true, Log* log = nullptr);
  // The index of the file in a column of a map (`place`: its workspace) for that map's record number; empty if there is
  // none. The number alone does not identify a file, since the inputs of a join each begin with 0. `bytes` is the file;
  // its content is the key of an index on disk.
  image::JpegIndex find(std::size_t place, std::uint64_t record, std::span<const std::uint8_t> bytes) const;
  // Whether keep() has an effect.
  bool makes() const { return make_; }
  // Keeps an index that knows more rows than the one before.
  void keep(std::size_t place, std::uint64_t record, std::span<const std::uint8_t> bytes,
            const image::JpegIndex& index);
  // Saves the indices for later runs, if there are enough new ones.
  void save();
  std::int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  // of memory
  std::int64_t count() const;                                                    // of those in memory
  std::int64_t count_on_disk() const { return file_ ? static_cast<std::int64_t>(file_->size()) : 0; }

 private:
  // Many small maps, so that workers seldom wait for each other. They keep serialized indices.
  static constexpr std::size_t kParts = 64;
  static constexpr std::int64_t kOverhead = 72;  // of an entry of a map
  struct Entry {
    std::uint64_t content = 0;  // jpeg_content_key, if there is a file
    std::vector<std::uint8_t> bytes;
  };
  struct Part {
    mutable std::mutex mutex;
    std::unordered_map<std::uint64_t, Entry> files;
  };
  static std::uint64_t key(std::size_t place, std::uint64_t record) { return std::uint64_t{place} << 48 ^ record; }
  void give_up_file(const Error& damage) const;

  std::int64_t memory_limit_;
  JpegIndexPlace disk_;
  bool make_;
  Log* log_;
  std::unique_ptr<const JpegIndexFile> file_;  // of an earlier run
  mutable std::atomic<bool> damaged_{false};   // file_ is
  std::atomic<std::int64_t> bytes_{0};
  std::atomic<std::int64_t> unsaved_{0};  // bytes added since the file was written
  std::array<Part, kParts> parts_;
};

}  // namespace ridgeline::data
