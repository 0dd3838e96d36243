// ridgeline/image/jpeg/index.h
//
// Where the rows of a JPEG's scan begin: a by-product of decoding it, with which a later decode of the same bytes skips
// to the rows that it needs, and decodes two of them in turns. A few kilobytes an image; a plain value, so any thread
// may read one that nobody writes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ridgeline::image {

class JpegIndex {
 public:
  // The state of the decoder before an MCU.
  struct Entry {
    std::uint32_t byte = 0;  // position in the file of the byte that holds the next bit
    std::uint8_t bit = 0;    // 0: its top bit
    std::array<std::int16_t, 3> dc{};
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  // After a decode that stopped early, only the first rows are known; 0 for an image without an index.
  int known_rows() const { return known_rows_; }
  bool empty() const { return known_rows_ == 0; }

  // Compact and portable: about 7 bytes an entry. parse() gives nothing for bytes that serialize() did not make.
  std::vector<std::uint8_t> serialize() const;
  static std::optional<JpegIndex> parse(std::span<const std::uint8_t> bytes);

  friend bool operator==(const JpegIndex&, const JpegIndex&) = default;

 private:
  friend class JpegFastDecoder;
  const Entry& at(int row, int column) const {
    return entries_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
                    static_cast<std::size_t>(column)];
  }

  std::uint64_t fingerprint_ = 0;  // of the file: see jpeg_fingerprint
  int columns_ = 0;                // entries a row
  int known_rows_ = 0;
  std::vector<Entry> entries_;  // known_rows_ * columns_, row by row
};

// MCUs between two entries of a row: about 64 pixels.
constexpr int jpeg_index_step(int mcu_width) { return 64 / mcu_width; }

// Identifies a file: a hash of everything before the scan, of the file's size, and of samples of the scan.
std::uint64_t jpeg_fingerprint(std::span<const std::uint8_t> bytes, std::size_t scan_begin);

}  // namespace ridgeline::image
