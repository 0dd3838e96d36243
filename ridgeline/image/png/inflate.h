// ridgeline/image/png/inflate.h
//
// A whole zlib stream (RFC 1950 and 1951) at once, where its size is known beforehand, as that of a PNG's pixels: one
// look at the next bits gives up to two literals. Private to this folder. Pure functions: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace ridgeline::image {

// Bytes behind the stream that are read, whatever they are, and behind the result that are written to.
inline constexpr std::size_t kInflateSlack = 640;

// Offsets in the stream, in bytes. The checksum ends at `end`. The last symbol that gives data does not end before
// `symbol`.
struct InflatedEnds {
  std::size_t symbol, end;
};

// Fills `out` with what the stream holds. It never judges: nullopt for all but a stream of exactly this size, whole and
// with the right checksum; then zlib shall say what it thinks of it.
std::optional<InflatedEnds> inflate_whole(std::span<const std::uint8_t> stream, std::span<std::uint8_t> out);

}  // namespace ridgeline::image
