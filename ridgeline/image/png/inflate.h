// ridgeline/image/png/inflate.h
//
// Inflates a whole zlib stream (RFC 1950 and 1951) at once, if its size is known beforehand, as for a PNG's pixels: one
// lookup of the next bits gives up to two literals. Private to this folder. Pure functions: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace ridgeline::image {

// Bytes after the stream that are read, whatever they are, and bytes after the result that are overwritten.
inline constexpr std::size_t kInflateSlack = 640;

// Offsets in the stream, in bytes. The checksum ends at `end`. The last symbol that gives data ends at `symbol` or
// later.
struct InflatedEnds {
  std::size_t symbol, end;
};

// Fills `out` with what the stream holds. nullopt for anything except a whole stream of exactly this size with the
// right checksum; then zlib decides what is wrong.
std::optional<InflatedEnds> inflate_whole(std::span<const std::uint8_t> stream, std::span<std::uint8_t> out);

}  // namespace ridgeline::image
