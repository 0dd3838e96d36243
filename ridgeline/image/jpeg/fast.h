// ridgeline/image/jpeg/fast.h
//
// Our own JPEG decoder: baseline files of the common samplings, with libjpeg's bits, in less time. It decodes only what
// a region needs and uses or makes a JpegIndex. It never rejects a file: whatever it does not support, and whatever
// looks wrong, it leaves to libjpeg. Private to this folder; use JpegDecoder.
#pragma once

#include <array>
#include <optional>

#include "ridgeline/image/image.h"
#include "ridgeline/image/jpeg/ahead.h"
#include "ridgeline/image/jpeg/entropy.h"
#include "ridgeline/image/jpeg/huffman.h"
#include "ridgeline/image/jpeg/index.h"
#include "ridgeline/image/jpeg/planes.h"
#include "ridgeline/image/jpeg/unstuff.h"

namespace ridgeline::image {

// Owned by one thread; keeps its memory from image to image.
class JpegFastDecoder {
 public:
  // `looks_ahead`: whether scans without an index are read by two streams (ahead.h). Pixels and indices are the same
  // either way.
  explicit JpegFastDecoder(bool looks_ahead) : looks_ahead_(looks_ahead) {}

  // The pixels of `wanted` (or all), valid until the next call; nothing if libjpeg is to decode the file. `known`, an
  // index made earlier, is used if it belongs to this file. `made` (it may be the same object) receives the index as
  // far as it is known afterwards: empty for a file that has none.
  std::optional<ImageView> decode(std::span<const std::uint8_t> bytes, const Box* wanted, std::int64_t max_pixels,
                                  const JpegIndex* known, JpegIndex* made);

 private:
  // One of the streams that are decoded in turns.
  struct Lane {
    EntropyStream stream;
    Unstuffed data;
    JpegRowBlocks blocks;
    int row = 0, column = 0, stop = 0;  // in MCUs; the columns up to `stop` are being decoded
    bool active = false;
  };

  bool prepare(std::span<const std::uint8_t> bytes, const Box* wanted, std::int64_t max_pixels);
  bool fits(const JpegIndex& index) const;
  bool decode_rows_in_turns(const JpegIndex& index);
  bool decode_from(const JpegIndex* index, JpegIndex* made);
  bool ends_properly(const Lane& lane, std::size_t segment) const;

  void plan(Lane& lane, int stop);
  bool begin_row(Lane& lane, int row, const JpegIndex& index);
  bool go_on(Lane& lane, const JpegIndex& index);
  bool restart(Lane& lane, std::size_t& segment);
  void look_ahead(const Lane& lane, int mcus_left);
  bool decode_columns(Lane& lane, int stop);
  void make_rows(int finished_mcu_rows);

  const bool looks_ahead_;
  HuffmanCache tables_;
  std::array<Lane, 2> lanes_;
  JpegAhead ahead_;
  bool taking_ = false;  // taking what ahead_ has read
  JpegPlanes planes_;
  std::unique_ptr<std::uint8_t[]> pixels_;
  std::size_t capacity_ = 0;

  // These belong to the image that is being decoded.
  std::span<const std::uint8_t> bytes_;
  JpegHeader header_;
  JpegRegion region_;
  std::uint64_t fingerprint_ = 0;
  int index_step_ = 0, index_columns_ = 0;
  int made_rows_ = 0;  // the next row of pixels
};

}  // namespace ridgeline::image
