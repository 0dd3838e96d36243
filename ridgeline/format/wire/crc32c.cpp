#include "ridgeline/format/wire/crc32c.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace ridgeline {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78u;

// tables[k][b]: the checksum of byte b followed by k zero bytes, so that eight bytes are folded at once.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) ? kPolynomial : 0u);
    tables[0][b] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t b = 0; b < 256; ++b) {
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xffu];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint64_t load64(const std::uint8_t* p) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

}  // namespace

std::uint32_t crc32c(std::span<const std::uint8_t> bytes, std::uint32_t crc) {
  static const auto chosen = crc32c_has_instruction() ? crc32c_by_instruction : crc32c_by_table;
  return chosen(bytes, crc);
}

std::uint32_t crc32c_by_table(std::span<const std::uint8_t> bytes, std::uint32_t crc) {
  const std::uint8_t* p = bytes.data();
  std::size_t n = bytes.size();
  std::uint32_t state = ~crc;
  for (; n >= 8; p += 8, n -= 8) {
    const std::uint64_t word = load64(p) ^ state;
    state = kTables[7][word & 0xff] ^ kTables[6][(word >> 8) & 0xff] ^ kTables[5][(word >> 16) & 0xff] ^
            kTables[4][(word >> 24) & 0xff] ^ kTables[3][(word >> 32) & 0xff] ^ kTables[2][(word >> 40) & 0xff] ^
            kTables[1][(word >> 48) & 0xff] ^ kTables[0][word >> 56];
  }
  for (; n > 0; ++p, --n) state = (state >> 8) ^ kTables[0][(state ^ *p) & 0xffu];
  return ~state;
}

std::string crc32c_text(std::uint32_t crc) { return fmt::format("0x{:08x}", crc); }

}  // namespace ridgeline
