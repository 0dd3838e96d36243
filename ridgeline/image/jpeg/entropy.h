// ridgeline/image/jpeg/entropy.h
//
// The Huffman decoder of baseline JPEG: bits to blocks of coefficients. Each look-up waits for the result of the one
// before, so one thread decodes two independent streams in turns. Private to this folder.
#pragma once

#include <array>
#include <cstdint>

#include "ridgeline/image/jpeg/huffman.h"

namespace ridgeline::image {

inline constexpr int kMaxBlocksInMcu = 6;
// Blocks after each row of blocks (and at the start of the scratch) that a stream may overwrite: an entry for an end of
// block or a damaged run stores up to 206 places after the block's start.
inline constexpr int kSlackBlocks = 4;

// One run of MCUs. The owner fills in the list of blocks and the position, calls `begin_mcus`, then `decode_mcus`.
struct EntropyStream {
  // One of an MCU's blocks. All except `to` and `step` is fixed for an image.
  struct Block {
    const DcTable* dc = nullptr;
    const AcTable* ac = nullptr;
    std::int16_t* to = nullptr;  // where the next one goes,
    std::ptrdiff_t step = 0;     // and by how much that moves from MCU to MCU (0: scratch)
    int component = 0;
    int dc_limit = 0;  // above it libjpeg's own arithmetic overflows
    bool last = false;
  };
  std::array<Block, kMaxBlocksInMcu> plan;
  int blocks_in_mcu = 0;
  std::int16_t* coefficients = nullptr;  // start of the memory into which the blocks go
  std::uint8_t* last = nullptr;          // for each 64 coefficients there: place of the last one that may not be zero

  int mcus_left = 0;
  bool failed = false;
  std::array<std::int32_t, 3> dc{};  // predictions

  std::uint32_t* ends = nullptr;  // if set, gets the position after every MCU

  // The next bits are at the top of `bits`, `count` mod 64 of them, and go on at `next`. At least `count` bits are
  // right; those below are zero or equal to what the next load brings.
  const std::uint8_t* base = nullptr;
  const std::uint8_t* next = nullptr;
  const std::uint8_t* limit = nullptr;  // `next` must not be beyond it at the start of a block
  std::uint64_t bits = 0;
  std::uint32_t count = 0;

  // State inside a block.
  std::int16_t* block = nullptr;
  unsigned place = 0;
  int index = 0;  // the block's number in the MCU

  // Bits consumed since `base`.
  std::uint64_t position() const { return static_cast<std::uint64_t>(next - base) * 8 - (count & 63); }
  void seek(std::uint64_t position);
  void set_data(const std::uint8_t* data, std::size_t size) {
    base = data;
    limit = data + size + 8;
    seek(0);
  }
};

// Starts the first of `mcus_left` MCUs.
void begin_mcus(EntropyStream& stream);
// Decodes until the MCUs of one of the streams are done, or one has failed; the other may be anywhere inside its own.
// `second` may be null. All must have begun. Returns the one that stopped.
EntropyStream* decode_mcus(EntropyStream* first, EntropyStream* second);

}  // namespace ridgeline::image
