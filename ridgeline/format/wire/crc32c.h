// ridgeline/format/wire/crc32c.h
//
// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78; RFC 3720 appendix B.4) by the processor's instruction where it
// has one, by tables elsewhere, and the masked CRC that TFRecord stores. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ridgeline {

// `crc` continues an earlier call: crc32c(b, crc32c(a)) == crc32c(a followed by b).
std::uint32_t crc32c(std::span<const std::uint8_t> bytes, std::uint32_t crc = 0);

// The two implementations, for tests. The first needs crc32c_has_instruction().
bool crc32c_has_instruction();
std::uint32_t crc32c_by_instruction(std::span<const std::uint8_t> bytes, std::uint32_t crc = 0);
std::uint32_t crc32c_by_table(std::span<const std::uint8_t> bytes, std::uint32_t crc = 0);

// A checksum stored beside its data is rotated and shifted, so that checksums of checksums do not degenerate
// (TensorFlow lib/hash/crc32c.h).
inline std::uint32_t masked_crc32c(std::span<const std::uint8_t> bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

// A checksum as messages have it: "0x0badcafe".
std::string crc32c_text(std::uint32_t crc);

}  // namespace ridgeline
