// ridgeline/format/record/tfrecord.h
//
// TFRecord files: a sequence of {u64 length, masked CRC of the length, data, masked CRC of the data}, little endian.
// (TensorFlow lib/io/record_writer.h.) Plain files are indexed and read record by record, compressed ones inflated in
// blocks that are kept as long as there is room; records of both can be read in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/core/random_access_file.h"
#include "ridgeline/format/wire/inflated_file.h"

namespace ridgeline {

struct TFRecordOptions {
  // Where indexes of plain files are kept between runs, keyed by path, size and modification time. Empty: nowhere.
  // A cache that cannot be read or written is ignored.
  std::string index_cache_directory = {};
  // Keep the records before a damaged place instead of refusing the file; damage() then tells what was wrong.
  bool keep_readable_prefix = false;
  // Where the inflated blocks of a compressed file are kept; several files may share it. Null: its own, of
  // kInflateLimit bytes.
  std::shared_ptr<InflatedBlocks> inflated = nullptr;
};

// Where and why a file stops being readable.
struct TFRecordDamage {
  std::string message;     // of the Error that it would have been
  std::uint64_t byte = 0;  // where the first unreadable record starts
  bool cut_short = false;  // the file ends inside that record; otherwise it is damaged there
};

// Owns the open file and the index. Opening checks the length and the length's checksum of
// every record, and that each fits; data is checked when read. Errors: "[tfrecord] FILE: record 1208 at byte 144013391
// ...", bytes counted in the inflated content for compressed files. A file that is cut short afterwards is an Error of
// the records that are gone. Immutable: any thread may read.
class TFRecordFile {
 public:
  explicit TFRecordFile(const std::string& path, const TFRecordOptions& options = {});

  const std::string& path() const { return path_; }
  Compression compression() const { return compression_; }
  std::size_t size() const { return offsets_.size() - 1; }
  // Where record i starts (its length field).
  std::uint64_t offset(std::size_t i) const { return offsets_[i]; }
  // Bytes of data of record i.
  std::uint64_t length(std::size_t i) const { return offsets_[i + 1] - offsets_[i] - kOverhead; }
  // The data of record i, its checksum verified. Lies in `storage`.
  std::span<const std::uint8_t> record(std::size_t i, std::string& storage) const;
  // The same for callers who word the message themselves: on an error nullopt, and `fault` says what is wrong.
  std::optional<std::span<const std::uint8_t>> record(std::size_t i, std::string& storage, std::string& fault) const;
  // What keep_readable_prefix left out.
  const std::optional<TFRecordDamage>& damage() const { return damage_; }
  // The index came from the cache directory.
  bool index_was_cached() const { return index_was_cached_; }

  static constexpr std::uint64_t kOverhead = 16;  // length 8, its checksum 4, the data's checksum 4

 private:
  void build_index();
  void inflate_index(const TFRecordOptions& options);

  std::string path_;
  Compression compression_ = Compression::none;
  RandomAccessFile file_;                         // of a plain file
  std::unique_ptr<const InflatedFile> inflated_;  // of a compressed one
  std::vector<std::uint64_t> offsets_;            // of every record, and the end of the last
  std::optional<TFRecordDamage> damage_;
  bool index_was_cached_ = false;
};

// Whether a file begins as a TFRecord file, plain or compressed: by the checksum of the first record's length. False
// also for a file that is empty or cannot be read.
bool begins_as_tfrecord(const std::string& path);

// Writes a file that appears under its name only when close() has returned. Without close() (an exception on the way)
// nothing is left behind. One thread.
class TFRecordWriter {
 public:
  explicit TFRecordWriter(const std::string& path, Compression compression = Compression::none);
  ~TFRecordWriter();
  TFRecordWriter(TFRecordWriter&&) noexcept;
  TFRecordWriter& operator=(TFRecordWriter&&) noexcept;

  void write(std::span<const std::uint8_t> data);
  void write(std::string_view data);
  // Written so far.
  std::size_t records() const { return records_; }
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::size_t records_ = 0;
};

// One record with its framing, as both writers of this folder append it.
std::string frame_record(std::span<const std::uint8_t> data);

}  // namespace ridgeline
