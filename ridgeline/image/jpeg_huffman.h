// ridgeline/image/jpeg_huffman.h
//
// Lookup tables of the own JPEG decoder. One look at the next bits gives whole coefficients: how many bits they take,
// how many places they advance in zigzag order, and their values. Two AC coefficients come at once where both fit.
// Private to this folder.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "ridgeline/image/jpeg_header.h"

namespace ridgeline::image {

inline constexpr int kDcLookupBits = 10;
inline constexpr int kAcLookupBits = 11;
inline constexpr unsigned kEndOfBlock = 128;  // an advance: more than 127 is the end of the block,
inline constexpr unsigned kBadCode = 64;      // 64 to 127 behind its last place: damaged
inline constexpr int kMaxSymbolBits = 27;     // a code of 16 bits, a value of 10 (AC) or 11 (DC)

// For codes that the lookup does not hold.
struct LongCodes {
  std::array<std::uint32_t, 18> end{};  // of each length: one more than its last code, left-aligned in 16 bits
  std::array<int, 17> first{};          // index of its first symbol minus its first code
  std::array<std::uint8_t, 256> symbol{};
};

// Entry: bits 0-5 length, 8-15 advance (1 if known), 16-31 value. Length 0: bits 8-15 advance, 16-20 length of the
// code, 21-24 bits of the value, which lie beyond; all zero: a long code.
struct DcTable {
  std::array<std::uint32_t, 1 << kDcLookupBits> entry{};
  LongCodes codes;
};

// Entry: bits 0-5 length of one or two coefficients, 8-15 advance to the first, 16-31 its value, 32-39 advance to the
// second, 40-45 length of the first, 48-63 value of the second. A single one stands twice. Length 0 as above.
struct AcTable {
  std::array<std::uint64_t, 1 << kAcLookupBits> entry{};
  LongCodes codes;
};

// False for a table that libjpeg refuses, or whose values are larger than baseline images have.
bool build(const HuffmanSpec& spec, DcTable& table);
bool build(const HuffmanSpec& spec, AcTable& table);

// An entry of the same kind for what the lookup does not hold. `bits` holds the next bits from the top.
std::uint32_t long_dc_entry(const DcTable& table, std::uint64_t bits, std::uint32_t entry);
std::uint64_t long_ac_entry(const AcTable& table, std::uint64_t bits, std::uint64_t entry);

// Keeps the tables of recent images: most files use the standard ones. Not thread-safe.
class HuffmanCache {
 public:
  // Null for a bad table. Lives until eight other tables of its kind have been asked for.
  const DcTable* dc(const HuffmanSpec& spec) { return find(spec, dc_); }
  const AcTable* ac(const HuffmanSpec& spec) { return find(spec, ac_); }

 private:
  template <class Table>
  struct Slot {
    HuffmanSpec spec;
    std::uint64_t used = 0;
    std::unique_ptr<Table> table;
  };
  template <class Table>
  const Table* find(const HuffmanSpec& spec, std::vector<Slot<Table>>& slots);

  std::uint64_t clock_ = 0;
  std::vector<Slot<DcTable>> dc_;
  std::vector<Slot<AcTable>> ac_;
};

}  // namespace ridgeline::image
