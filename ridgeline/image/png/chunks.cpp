#include "ridgeline/image/png/chunks.h"

#include <zlib.h>

#include <algorithm>
#include <string>

#include "ridgeline/core/error.h"

namespace ridgeline::image {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kSignature = 8, kChecksum = 4;
// Pixels are inflated in pieces of this size, as Pillow does: whether a stream is cut short can depend on it.
constexpr std::uint32_t kPiece = 65536;

std::uint32_t big_endian(Bytes bytes) {
  return (std::uint32_t{bytes[0]} << 24) | (std::uint32_t{bytes[1]} << 16) | (std::uint32_t{bytes[2]} << 8) | bytes[3];
}

[[noreturn]] void fail(std::string_view chunk, const std::string& problem) {
  throw Error("[png] chunk " + std::string(chunk) + " " + problem);
}

bool word_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

bool known_depth(int type, int depth) {
  switch (type) {
    case 0: return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case 3: return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case 2:
    case 4:
    case 6: return depth == 8 || depth == 16;
    default: return false;
  }
}

// The bytes after the text that a NUL ends; all of them where there is no NUL.
Bytes behind_name(Bytes data) {
  return data.subspan(static_cast<std::size_t>(std::find(data.begin(), data.end(), 0) - data.begin()));
}

}  // namespace

PngChunks::PngChunks(std::span<const std::uint8_t> file) : rest_(file.subspan(std::min(kSignature, file.size()))) {
  for (bool first = true;; first = false) {
    const auto chunk = begin_chunk();
    if (!chunk) throw Error("[png] the file ends before its pixels");
    // Where the header is not the first, read_header() would return another size.
    if ((chunk->name == "IHDR") != first)
      throw Error(first ? "[png] no IHDR chunk at the start" : "[png] a second IHDR chunk");
    if (chunk->name == "IDAT") {
      left_ = chunk->bytes;
      // An image that is not a frame comes before the frames.
      animated_ = frames_ > 0 && (frames_ > 1 || !number_);
      return;
    }
    if (chunk->name == "IEND") throw Error("[png] the file has no pixels");
    if (chunk->name == "fdAT") throw Error("[png] an animation without an image before its frames");
    const Bytes data = data_of(*chunk);
    check(*chunk, data);
    if (chunk->name == "IHDR") read_header(data);
    if (chunk->name == "PLTE" && header_.type == 3) {
      if (data.size() / 3 > 256) fail(chunk->name, "has more than 256 colours");
      header_.palette = data;
    }
    if (rest_.size() < kChecksum) fail(chunk->name, "is cut short: its checksum is missing");
    auto computed = ::crc32(0, reinterpret_cast<const std::uint8_t*>(chunk->name.data()), 4);
    if (!data.empty()) computed = ::crc32(computed, data.data(), static_cast<uInt>(data.size()));
    if (big_endian(rest_) != computed) fail(chunk->name, "has a wrong checksum");
    skip(kChecksum);
  }
}

std::optional<PngChunks::Chunk> PngChunks::begin_chunk() {
  if (rest_.size() < 8) return std::nullopt;
  const std::string_view name(reinterpret_cast<const char*>(rest_.data()) + 4, 4);
  const std::uint32_t bytes = big_endian(rest_);
  if (!std::all_of(name.begin(), name.end(), word_character)) return std::nullopt;
  skip(8);
  return Chunk{name, bytes};
}

void PngChunks::skip(std::uint64_t bytes) {
  rest_ = rest_.subspan(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, rest_.size())));
}

Bytes PngChunks::data_of(const Chunk& chunk) {
  if (chunk.bytes > rest_.size()) {
    fail(chunk.name, "is cut short: it has " + std::to_string(chunk.bytes) + " bytes, the file ends after " +
                         std::to_string(rest_.size()));
  }
  const Bytes data = rest_.first(chunk.bytes);
  skip(chunk.bytes);
  return data;
}

void PngChunks::read_header(Bytes data) {
  header_.width = big_endian(data);
  header_.height = big_endian(data.subspan(4));
  header_.depth = data[8];
  header_.type = data[9];
  header_.interlaced = data[12] != 0;
  if (!known_depth(header_.type, header_.depth)) {
    throw Error("[png] unknown colour type " + std::to_string(header_.type) + " of " + std::to_string(header_.depth) +
                " bits");
  }
  if (header_.width == 0 || header_.height == 0 || header_.width > 0x7fffffff || header_.height > 0x7fffffff) {
    throw Error("[png] impossible size " + std::to_string(header_.width) + "x" + std::to_string(header_.height));
  }
}

// Chunks that we do not read, but whose damage is an error in Pillow.
void PngChunks::check(const Chunk& chunk, Bytes data) {
  const std::string_view name = chunk.name;
  const auto at_least = [&](std::size_t bytes) {
    if (data.size() < bytes) {
      fail(name, "is cut short: it has " + std::to_string(data.size()) + " bytes of " + std::to_string(bytes));
    }
  };
  if (name == "IHDR") {
    at_least(13);
    if (data[11] != 0) fail(name, "asks for an unknown filter");
  } else if (name == "tRNS") {
    at_least(header_.type == 0 ? 2 : header_.type == 2 ? 6 : 0);
  } else if (name == "gAMA") {
    at_least(4);
  } else if (name == "cHRM") {
    if (data.size() % 4 != 0) fail(name, "is no list of numbers");
  } else if (name == "sRGB") {
    at_least(1);
  } else if (name == "pHYs") {
    at_least(9);
  } else if (name == "iCCP") {
    const Bytes profile = behind_name(data);
    const std::size_t method = profile.empty() ? 0 : data.size() - profile.size() + 1;
    if (method >= data.size() || data[method] != 0) fail(name, "has an unknown compression");
  } else if (name == "zTXt") {
    const Bytes text = behind_name(data);
    if (text.size() > 1 && text[1] != 0) fail(name, "has an unknown compression");
  } else if (name == "acTL") {
    at_least(8);
    frames_ = frames_ != 0 || big_endian(data) > 0x80000000 ? 0 : big_endian(data);
  } else if (name == "fcTL") {
    at_least(26);
    check_frame(data);
  } else if (name == "fdAT") {
    at_least(4);
    if (!number_) throw Error("[png] the animation's chunks are out of order");
    count_frame(data);
  }
}

void PngChunks::count_frame(Bytes data) {
  if (big_endian(data) != (number_ ? *number_ + 1 : 0)) throw Error("[png] the animation's chunks are out of order");
  number_ = big_endian(data);
}

void PngChunks::check_frame(Bytes data) {
  count_frame(data);
  const std::uint64_t width = big_endian(data.subspan(4)), height = big_endian(data.subspan(8));
  const std::uint64_t left = big_endian(data.subspan(12)), top = big_endian(data.subspan(16));
  if (left + width > header_.width || top + height > header_.height)
    throw Error("[png] a frame of the animation lies outside of the image");
  // The header of a later frame is not read. Pillow puts a smaller first frame at its position.
  if (!finishing_ && (width != header_.width || height != header_.height))
    throw Error("[png] the first frame of the animation is not the whole image");
}

std::span<const std::uint8_t> PngChunks::more_pixels() {
  while (left_ == 0) {
    skip(kChecksum);
    const auto chunk = begin_chunk();
    if (!chunk || chunk->name != "IDAT") return {};
    left_ = chunk->bytes;
  }
  const Bytes piece = rest_.first(std::min<std::size_t>(std::min(left_, kPiece), rest_.size()));
  left_ -= std::min(left_, kPiece);
  skip(piece.size());
  return piece;
}

std::span<const std::uint8_t> PngChunks::pixels() {
  const Bytes piece = more_pixels();
  if (piece.empty()) throw Error("[png] premature end of PNG file");
  return piece;
}

void PngChunks::finish() {
  finishing_ = true;
  skip(left_);
  while (true) {
    skip(kChecksum);
    const auto chunk = begin_chunk();
    if (!chunk || chunk->name == "IEND" || (animated_ && chunk->name == "fcTL")) return;
    check(*chunk, data_of(*chunk));
  }
}

}  // namespace ridgeline::image
