// ridgeline/image/jpeg/unstuff.h
//
// Entropy-coded JPEG data without their stuffing: each 0xff in the data is followed by a 0x00 in the file. Private to
// this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ridgeline::image {

// Reading beyond the end by less than this gives zeros: the decoder checks its position once per block.
inline constexpr std::size_t kReadSlack = 320;

// Keeps its memory from call to call.
class Unstuffed {
 public:
  // Bytes from `begin` of `file` up to the first marker, or to somewhat beyond `end` (or to the file's end). Markers
  // RST0..7 in their order, beginning with `restart` (0..7; -1: none is expected), do not stop it; each begins a
  // segment.
  void read(std::span<const std::uint8_t> file, std::size_t begin, std::size_t end, int restart);

  const std::uint8_t* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }
  // Where each restart segment begins, the first at 0.
  const std::vector<std::size_t>& segments() const { return segments_; }
  // The marker that stopped it, 0 for none.
  int marker() const { return marker_; }
  // Translates positions in data() into positions in the file; `at` must not decrease from call to call with the same
  // `cursor`, which starts at 0. Only for data without restarts.
  std::size_t file_position(std::size_t at, std::size_t& cursor) const {
    while (cursor < removed_.size() && removed_[cursor] <= at) ++cursor;
    return begin_ + at + cursor;
  }

 private:
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t capacity_ = 0, size_ = 0, begin_ = 0;
  std::vector<std::size_t> segments_;
  std::vector<std::uint32_t> removed_;  // positions in data() before which a byte was dropped
  int marker_ = 0;
};

}  // namespace ridgeline::image
