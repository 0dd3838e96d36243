#include "ridgeline/format/record/tfrecord.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "ridgeline/core/bytes.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/lfs_pointer.h"
#include "ridgeline/format/record/tfrecord_index.h"
#include "ridgeline/format/wire/crc32c.h"

namespace ridgeline {
namespace {

template <class T>
T load(const std::uint8_t* p) {
  T value{};
  std::memcpy(&value, p, sizeof(T));
  return value;
}

bool length_checksum_holds(const std::uint8_t* header) {
  return masked_crc32c({header, 8}) == load<std::uint32_t>(header + 8);
}

constexpr std::size_t kHeader = 12;                           // length and its checksum
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;  // of a record: sums of offsets do not overflow

// A plain file is recognised by the checksum of its first length: that length may look like the magic of gzip.
Compression compression_of(const RandomAccessFile& file) {
  std::array<std::uint8_t, kHeader> start{};
  const std::size_t got = file.read_some(0, start);
  if (got == kHeader && length_checksum_holds(start.data())) return Compression::none;
  return guess_compression(std::span(start).first(got));
}

// Headers of a plain file, one after the other: a page at a time, which holds several of small records.
class HeaderReader {
 public:
  explicit HeaderReader(const RandomAccessFile& file) : file_(file) {}
  // The header at `at`, which exists unless the file was truncated meanwhile.
  const std::uint8_t* at(std::uint64_t at) {
    if (at < from_ || at + kHeader > from_ + filled_) {
      from_ = at;
      filled_ = static_cast<std::size_t>(std::min<std::uint64_t>(page_.size(), file_.size() - at));
      file_.read(at, std::span(page_).first(filled_));
    }
    return page_.data() + (at - from_);
  }

 private:
  const RandomAccessFile& file_;
  std::array<std::uint8_t, 4096> page_{};
  std::uint64_t from_ = 0;
  std::size_t filled_ = 0;
};

// What is wrong with a record of which only `left` bytes exist.
std::string header_is_cut(std::uint64_t left) {
  return "is cut short: " + std::to_string(left) + " bytes are left, its header has 12";
}
std::string data_is_cut(std::uint64_t length, std::uint64_t left) {
  return "is cut short: it has " + std::to_string(length) + " bytes of data, the file ends after " +
         std::to_string(left - kHeader);
}
std::string wrong_length(const std::uint8_t* header, std::uint64_t at) {
  if (at == 0 && is_lfs_pointer({header, 12})) return kLfsPointerText;
  return "has a wrong checksum of its length (stored " + crc32c_text(load<std::uint32_t>(header + 8)) + ", computed " +
         crc32c_text(masked_crc32c({header, 8})) + ")" + (at == 0 ? "; is this a TFRecord file?" : "");
}

std::string place(const std::string& path, std::size_t record, std::uint64_t byte) {
  return "[tfrecord] " + path + ": record " + std::to_string(record) + " at byte " + std::to_string(byte) + " ";
}

}  // namespace

TFRecordFile::TFRecordFile(const std::string& path, const TFRecordOptions& options) : path_(path), file_(path) {
  compression_ = compression_of(file_);
  if (compression_ != Compression::none) {
    file_ = RandomAccessFile();
    inflate_index(options);
    if (damage_ && !options.keep_readable_prefix) throw Error(damage_->message);
    return;
  }
  const bool cache = !options.index_cache_directory.empty();
  if (cache) {
    if (auto offsets = load_tfrecord_index(options.index_cache_directory, path, file_.size())) {
      offsets_ = std::move(*offsets);
      index_was_cached_ = true;
      return;
    }
  }
  build_index();
  if (damage_ && !options.keep_readable_prefix) throw Error(damage_->message);
  if (cache && !damage_) store_tfrecord_index(options.index_cache_directory, path, offsets_);
}

// Walks from length to length: touches one page a record, reads no data.
void TFRecordFile::build_index() {
  HeaderReader headers(file_);
  offsets_ = {0};
  while (offsets_.back() < file_.size()) {
    const std::uint64_t at = offsets_.back();
    const std::uint64_t left = file_.size() - at;
    const auto damaged = [&](const std::string& problem, bool cut_short) {
      damage_ = TFRecordDamage{place(path_, size(), at) + problem, at, cut_short};
    };
    if (left < kHeader) return damaged(header_is_cut(left), true);
    const std::uint8_t* header = headers.at(at);
    if (!length_checksum_holds(header)) return damaged(wrong_length(header, at), false);
    const auto length = load<std::uint64_t>(header);
    if (left < kOverhead || length > left - kOverhead) return damaged(data_is_cut(length, left), true);
    offsets_.push_back(at + kOverhead + length);
  }
}

bool begins_as_tfrecord(const std::string& path) {
  try {
    const RandomAccessFile file(path);
    std::array<std::uint8_t, 4096> page{};
    const std::span<const std::uint8_t> start = std::span(page).first(file.read_some(0, page));
    if (start.size() >= kHeader && length_checksum_holds(start.data())) return true;
    const Compression compression = guess_compression(start);
    if (compression == Compression::none) return false;
    std::optional<std::string> cut;  // as the beginning of a stream is
    const std::vector<std::uint8_t> content = inflate_bytes(start, compression, path, kInflateLimit, &cut);
    return content.size() >= kHeader && length_checksum_holds(content.data());
  } catch (const Error&) {
    return false;
  }
}

// The same while inflating the content from beginning to end.
void TFRecordFile::inflate_index(const TFRecordOptions& options) {
  auto blocks = options.inflated ? options.inflated : std::make_shared<InflatedBlocks>(kInflateLimit);
  offsets_ = {0};
  std::array<std::uint8_t, kHeader> header{};
  std::uint64_t seen = 0;  // bytes of content
  const auto damaged = [&](const std::string& problem, std::uint64_t at, bool cut_short) {
    damage_ = TFRecordDamage{place(path_, size(), at) + problem, at, cut_short};
  };
  const auto walk = [&](std::span<const std::uint8_t> bytes) {
    const std::uint64_t end = seen + bytes.size();
    while (!damage_ && offsets_.back() < end) {
      const std::uint64_t at = offsets_.back(), from = std::max(at, seen), to = std::min(at + kHeader, end);
      if (from < to) std::memcpy(header.data() + (from - at), bytes.data() + (from - seen), to - from);
      if (end < at + kHeader) break;  // the rest comes with the next bytes
      const auto length = load<std::uint64_t>(header.data());
      if (!length_checksum_holds(header.data()) || length > kMostBytes)
        damaged(wrong_length(header.data(), at), at, false);
      else
        offsets_.push_back(at + kOverhead + length);
    }
    seen = end;
  };
  std::optional<std::string> inflate_damage;
  inflated_ = std::make_unique<const InflatedFile>(path_, compression_, std::move(blocks), walk,
                                                   options.keep_readable_prefix ? &inflate_damage : nullptr);
  if (offsets_.back() > seen) {  // the last record is not there whole
    offsets_.pop_back();
    const std::uint64_t at = offsets_.back();
    damaged(data_is_cut(load<std::uint64_t>(header.data()), seen - at), at, true);
  } else if (!damage_ && offsets_.back() < seen) {
    damaged(header_is_cut(seen - offsets_.back()), offsets_.back(), true);
  }
  if (inflate_damage) damage_ = TFRecordDamage{*inflate_damage, offsets_.back(), true};
}

std::span<const std::uint8_t> TFRecordFile::record(std::size_t i, std::string& storage) const {
  std::string fault;
  if (const auto data = record(i, storage, fault)) return *data;
  throw Error(place(path_, i, offsets_[i]) + fault);
}

std::optional<std::span<const std::uint8_t>> TFRecordFile::record(std::size_t i, std::string& storage,
                                                                  std::string& fault) const {
  RIDGELINE_CHECK(i < size(), "record number out of range");
  storage.resize(static_cast<std::size_t>(offsets_[i + 1] - offsets_[i]));
  auto* header = reinterpret_cast<std::uint8_t*>(storage.data());
  if (inflated_) {
    try {
      inflated_->read(offsets_[i], {header, storage.size()});
    } catch (const Error& e) {
      fault = std::string("cannot be read: ") + e.what();
      return std::nullopt;
    }
  } else if (const std::size_t got = file_.read_some(offsets_[i], {header, storage.size()}); got < storage.size()) {
    fault = "cannot be read: " + file_.cut_short(offsets_[i], got);
    return std::nullopt;
  }
  // True by construction, unless the index came from a cache and the file was changed without a new time.
  if (load<std::uint64_t>(header) != length(i)) {
    fault = "has another length than the cached index says: the file has changed";
    return std::nullopt;
  }
  const std::span data(header + kHeader, static_cast<std::size_t>(length(i)));
  const auto stored = load<std::uint32_t>(header + kHeader + length(i));
  const std::uint32_t computed = masked_crc32c(data);
  if (stored != computed) {
    fault =
        "has a wrong checksum of its data (stored " + crc32c_text(stored) + ", computed " + crc32c_text(computed) + ")";
    return std::nullopt;
  }
  return data;
}

}  // namespace ridgeline
