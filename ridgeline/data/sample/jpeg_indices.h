// ridgeline/data/sample/jpeg_indices.h
//
// The side indices of a run's JPEGs (image/jpeg/index.h): made when a record is decoded for the first time, used by
// every later epoch to go straight to its crop. They change the time of a decode, never its pixels. Bounded in bytes:
// when they are used up, records without an index are decoded without one. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "ridgeline/image/jpeg/index.h"

namespace ridgeline::data {

class JpegIndices {
 public:
  explicit JpegIndices(std::int64_t memory_limit) : memory_limit_(memory_limit) {}
  // The index of the file in a column of a map (`place`: that of its workspace) for a record as that map numbers them;
  // empty where there is none. A number alone names no file: the inputs of a join each begin with 0.
  image::JpegIndex find(std::size_t place, std::uint64_t record) const;
  // Keeps an index that knows more rows than the one before.
  void keep(std::size_t place, std::uint64_t record, const image::JpegIndex& index);
  std::int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::int64_t count() const;

 private:
  // Many small maps, so that workers seldom meet. What is kept is the compact form.
  static constexpr std::size_t kParts = 64;
  static constexpr std::int64_t kOverhead = 64;  // of an entry of a map
  struct Part {
    mutable std::mutex mutex;
    std::unordered_map<std::uint64_t, std::vector<std::uint8_t>> files;
  };
  static std::uint64_t key(std::size_t place, std::uint64_t record) { return std::uint64_t{place} << 48 ^ record; }
  std::int64_t memory_limit_;
  std::atomic<std::int64_t> bytes_{0};
  std::array<Part, kParts> parts_;
};

}  // namespace ridgeline::data
