// ridgeline/image/png/predictions.h
//
// The rows of a PNG as its stream has them: each byte is stored as its difference to a prediction from the pixels left
// and above (PNG specification, 3rd edition, section 9). Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ridgeline::image {

// Bytes behind the last row that undo_png_predictions may read, and does not write.
constexpr std::size_t kPngSlack = 4;

// Contiguous rows, each a byte that names its prediction, 0 to 4, and then `bytes` bytes of whole pixels.
struct PngRows {
  std::uint8_t* first = nullptr;
  std::size_t count = 0;
  std::size_t bytes = 0;
  std::uint8_t* row(std::size_t k) const { return first + k * (1 + bytes); }
};

// Undoes the predictions of the first `wanted` bytes of every row, whole pixels of `pixel_bytes` (1 to 8) bytes each;
// what is right of them stays as it was. `above` holds them of the row above the first, undone, or zeros, and one more
// readable byte. Returns the number of rows before the first one whose prediction has no such name: from there on
// nothing is specified.
std::size_t undo_png_predictions(const PngRows& rows, std::size_t wanted, const std::uint8_t* above, int pixel_bytes);

}  // namespace ridgeline::image
