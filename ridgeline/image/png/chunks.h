// ridgeline/image/png/chunks.h
//
// The chunks of a PNG file, accepted or refused as by Pillow 10.4: before the pixels every chunk must be whole and its
// checksum right; chunks of pixels are checked only by the checksum of the stream inside them; after the pixels a chunk
// that is cut short is an Error, a missing end is not. Private to this folder; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ridgeline::image {

struct PngHeader {
  std::uint32_t width = 0, height = 0;
  int depth = 0;  // bits of a sample
  int type = 0;   // 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGB and alpha; depth and type fit each other
  bool interlaced = false;
  std::span<const std::uint8_t> palette;  // 3 bytes a colour, 256 colours at most
};

class PngChunks {
 public:
  // Reads up to the pixels. The bytes are borrowed. Errors begin with "[png] ".
  explicit PngChunks(std::span<const std::uint8_t> file);
  const PngHeader& header() const { return header_; }
  // The next bytes of the pixels' stream; empty at its end.
  std::span<const std::uint8_t> more_pixels();
  // The same, never empty: an Error at the end.
  std::span<const std::uint8_t> pixels();
  // Nothing follows the chunk of the last piece: it is cut short, or the file ends with it.
  bool cut_short() const { return left_ >= rest_.size(); }
  // Reads what comes after the pixels; the rest of their stream is skipped.
  void finish();

 private:
  struct Chunk {
    std::string_view name;
    std::uint32_t bytes;
  };
  // The 8 bytes before a chunk's data; nullopt where there are none.
  std::optional<Chunk> begin_chunk();
  std::span<const std::uint8_t> data_of(const Chunk& chunk);
  void skip(std::uint64_t bytes);
  void check(const Chunk& chunk, std::span<const std::uint8_t> data);
  void read_header(std::span<const std::uint8_t> data);
  void check_frame(std::span<const std::uint8_t> data);
  void count_frame(std::span<const std::uint8_t> data);

  std::span<const std::uint8_t> rest_;
  PngHeader header_;
  std::uint32_t left_ = 0;               // bytes left of the current chunk of pixels
  std::uint32_t frames_ = 0;             // of an animation, 0: none announced
  std::optional<std::uint32_t> number_;  // of the animation's last chunk
  bool animated_ = false;
  bool finishing_ = false;
};

}  // namespace ridgeline::image
