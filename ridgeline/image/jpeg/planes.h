// ridgeline/image/jpeg/planes.h
//
// From coefficients to RGB rows for one region of an image: the planes of samples between inverse DCT and colour, with
// one sample of chroma around the region. They hold a few MCU rows, so that a decoder keeps little more memory than a
// photo's pixels. Private to this folder.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include <hwy/aligned_allocator.h>

#include "ridgeline/image/image.h"
#include "ridgeline/image/jpeg/header.h"

namespace ridgeline::image {

// Rows begin..end-1 (or columns).
struct Range {
  int begin = 0, end = 0;
};

// The MCUs that a region needs.
struct JpegRegion {
  Box box;
  Range mcu_rows, mcu_columns;
};
// `mcu_rows` ends where libjpeg would also stop: it makes the last rows of an MCU row only once it has the next one.
JpegRegion jpeg_region(const JpegHeader& header, const Box& box);

// Coefficients of one MCU row, `mcu_columns` only: for each component its rows of blocks, contiguous, each followed by
// slack. Made by the entropy decoder, read by JpegPlanes.
class JpegRowBlocks {
 public:
  // Also clears the slack: its contents must not look like damage.
  void reset(const JpegHeader& header, const JpegRegion& region);
  std::int16_t* coefficients() { return coefficients_.get(); }  // the first block is scratch
  std::uint8_t* last() { return last_.get(); }
  // Block row `v` of a component: its first block.
  std::ptrdiff_t row(int component, int v) const {
    return row_[static_cast<std::size_t>(component)][static_cast<std::size_t>(v)];
  }

 private:
  hwy::AlignedFreeUniquePtr<std::int16_t[]> coefficients_;  // a block is two cache lines
  std::unique_ptr<std::uint8_t[]> last_;
  std::ptrdiff_t capacity_ = 0;  // blocks
  std::array<std::array<std::ptrdiff_t, 2>, 3> row_{};
};

// Owned by one thread; keeps its memory from image to image.
class JpegPlanes {
 public:
  void reset(const JpegHeader& header, const JpegRegion& region);
  // One more than the last MCU row that may be transformed, in any order, while `finished` is the first row that is not
  // transformed, and make_rows() has made the rows before ready_rows(finished).
  static int room(int finished) { return finished - 1 + kMcuRows; }
  // Inverse DCT of one MCU row. False for coefficients that libjpeg must handle (see inverse_dct).
  bool transform(int mcu_row, JpegRowBlocks& blocks);
  // The first row of the box that cannot be made yet when the MCU rows before `mcu_row` are transformed.
  int ready_rows(int mcu_row) const;
  // Rows begin..end-1 of the image, which are in the box; `out` is the box's first row. Writes up to 3 * kColourSlack
  // bytes beyond each row.
  void make_rows(int begin, int end, std::uint8_t* out, std::ptrdiff_t stride);

 private:
  // MCU rows in memory, as a ring: the one before the first unfinished row, whose last pixels wait for it, and enough
  // others that, of two rows decoded in turns, the shorter one seldom waits for the longer.
  static constexpr int kMcuRows = 8;
  struct Plane {
    hwy::AlignedFreeUniquePtr<std::uint8_t[]> memory;
    std::size_t capacity = 0;
    std::uint8_t* first = nullptr;  // the ring's first row, at column mcu_columns.begin
    std::ptrdiff_t stride = 0;
    int rows = 0;  // of samples, in the ring
    // Row `y` of samples, counted from mcu_rows.begin.
    std::uint8_t* row(int y) const { return first + y % rows * stride; }
  };
  const std::uint8_t* chroma(int component, int row, int column) const;
  void make_chroma(int component, int y, std::uint8_t* out) const;

  const JpegHeader* header_ = nullptr;
  JpegRegion region_;
  std::array<Plane, 3> plane_;
  Range chroma_columns_;                  // that the box's pixels need
  std::unique_ptr<std::uint8_t[]> wide_;  // two rows of upsampled chroma
  std::size_t wide_capacity_ = 0;
};

}  // namespace ridgeline::image
