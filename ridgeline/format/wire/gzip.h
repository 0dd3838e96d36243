// ridgeline/format/wire/gzip.h
//
// Whole-buffer inflate and deflate over zlib, for its two containers, with a limit on the output: a small damaged or
// hostile file must not fill the memory. Pure functions: any thread may call them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/core/error.h"

namespace ridgeline {

enum class Compression { none, gzip, zlib };

// By the first bytes: gzip starts with 1f 8b 08, zlib with a two-byte header that 31 divides (RFC 1952, RFC 1950).
// Two bytes are weak evidence: a caller that can recognise its format otherwise does so first.
Compression guess_compression(std::span<const std::uint8_t> bytes);

constexpr std::size_t kInflateLimit = std::size_t{4} << 30;

// The output exceeds its limit: for callers who know what to do about it.
class InflateLimitError : public Error {
 public:
  using Error::Error;
};

// The content of a gzip file (one or more members) or of one zlib stream. Damaged, truncated or trailing input is an
// Error that starts with "[gzip] `where`" and names the byte of the input; given `damage`, that message goes there
// instead and the output before the damage is returned. More than `limit` bytes of output is always an
// InflateLimitError. The result takes no more memory than its size.
std::vector<std::uint8_t> inflate_bytes(std::span<const std::uint8_t> bytes, Compression kind, std::string_view where,
                                        std::size_t limit = kInflateLimit,
                                        std::optional<std::string>* damage = nullptr);

// One gzip member (no name, time 0: equal content gives equal bytes) or one zlib stream. `level` is 0..9.
std::vector<std::uint8_t> deflate_bytes(std::span<const std::uint8_t> bytes, Compression kind, int level = 6);

}  // namespace ridgeline
