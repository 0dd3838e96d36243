// ridgeline/format/wire/inflated_file.h
//
// The content of a gzip or zlib file, read at any place without being held in memory whole. Opening reads the file once
// and records points at which inflating can restart (zlib's examples/zran.c): the state is the 32 KiB of content before
// the point. Between two points is a block of several megabytes, which is inflated when it is needed and kept as long
// as there is room.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ridgeline/core/random_access_file.h"
#include "ridgeline/format/wire/gzip.h"

namespace ridgeline {

// A least-recently-used cache of inflated blocks of any number of files, limited in bytes. Any thread.
class InflatedBlocks {
 public:
  using Block = std::shared_ptr<const std::vector<std::uint8_t>>;
  explicit InflatedBlocks(std::size_t limit) : limit_(limit) {}

  std::size_t limit() const { return limit_; }
  std::size_t bytes() const;
  std::uint64_t new_file();  // a unique number for a file
  Block find(std::uint64_t file, std::size_t block);
  // Drops others if there is no room for it. A block larger than the limit is not kept.
  void keep(std::uint64_t file, std::size_t number, Block block);
  void forget(std::uint64_t file);

 private:
  struct Entry {
    std::uint64_t key;
    Block block;
  };
  static std::uint64_t key_of(std::uint64_t file, std::size_t number) { return file << 32 | number; }

  mutable std::mutex mutex_;
  std::size_t limit_;
  std::size_t bytes_ = 0;
  std::uint64_t files_ = 0;
  std::list<Entry> used_;  // most recent first
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> found_;
};

// Immutable after the constructor: any thread may read.
class InflatedFile {
 public:
  // Bytes of content between two points, and their upper limit: more content without a possible restart point is an
  // InflateLimitError.
  static constexpr std::size_t kBlock = std::size_t{4} << 20, kLargestBlock = std::size_t{256} << 20;

  // Gives all of the content to `content`, in order. Damage is an Error "[gzip] PATH: ... at byte N" of the file; given
  // `damage`, that message goes there instead, and the content before the damage can be read. `block`: for tests.
  InflatedFile(const std::string& path, Compression kind, std::shared_ptr<InflatedBlocks> blocks,
               const std::function<void(std::span<const std::uint8_t>)>& content,
               std::optional<std::string>* damage = nullptr, std::size_t block = kBlock);
  ~InflatedFile();
  InflatedFile(const InflatedFile&) = delete;
  InflatedFile& operator=(const InflatedFile&) = delete;

  std::uint64_t size() const { return size_; }  // of the content
  std::size_t points() const { return points_.size(); }
  // Bytes `at` to at + into.size() of the content, which must be there. A file that changed meanwhile is an Error.
  void read(std::uint64_t at, std::span<std::uint8_t> into) const;

 private:
  static constexpr std::size_t kWindow = 32768;
  // Where inflating can restart.
  struct Point {
    std::uint64_t content = 0;  // bytes before it
    std::uint64_t byte = 0;     // the first byte of the file that was not read
    int bits = 0;               // unused bits of the byte before
    bool raw = false;           // true: inside a stream, with `window`; false: a container begins there
    std::vector<std::uint8_t> window;
  };
  class Opening;
  InflatedBlocks::Block block(std::size_t number) const;
  std::vector<std::uint8_t> inflate_block(std::size_t number) const;

  RandomAccessFile file_;
  Compression kind_;
  std::shared_ptr<InflatedBlocks> blocks_;
  std::uint64_t id_;
  std::uint64_t size_ = 0;
  std::vector<Point> points_;
};

}  // namespace ridgeline
