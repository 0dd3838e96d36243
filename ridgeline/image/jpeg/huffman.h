// ridgeline/image/jpeg/huffman.h
//
// Lookup tables of our own JPEG decoder. One lookup of the next bits gives whole coefficients: how many bits they take,
// how many places they advance in zigzag order, and their values. Two AC coefficients come at once if both fit. Private
// to this folder.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "ridgeline/image/jpeg/header.h"

namespace ridgeline::image {

inline constexpr int kDcLookupBits = 10;
inline constexpr int kAcLookupBits = 11;
inline constexpr unsigned kEndOfBlock = 128;  // an advance: more than 127 is the end of the block,
inline constexpr unsigned kBadCode = 64;      // 64 to 127: beyond its last place, damaged

// For codes that the lookup does not hold.
struct LongCodes {
  std::array<std::uint32_t, 18> end{};  // of each length: one more than its last code, left-aligned in 16 bits
  std::array<int, 17> first{};          // index of its first symbol minus its first code
  std::array<std::uint8_t, 256> symbol{};
};

// A DC code; its value follows it. Long and short values are about equally frequent, so a branch on the length would
// often be mispredicted. Length 0: a longer code.
struct DcEntry {
  std::uint8_t code_length = 0;
  std::uint8_t size = 0;  // bits of the value
};

// One or two AC coefficients with their values. For a single one second == first. If its value is not within the
// lookup's bits, `rest` tells how many bits at the end of `length` are to be added to `first_value`. Length 0: the code
// itself is longer.
struct AcEntry {
  std::uint8_t length = 0;       // of all, up to kMaxAcLength
  std::uint8_t first = 0;        // advance to the first coefficient
  std::int16_t first_value = 0;  // without the rest
  std::uint8_t second = 0;       // advance to the second, from the same place
  std::uint8_t rest = 0;
  std::int16_t second_value = 0;  // undefined for a single one
};
inline constexpr unsigned kMaxDcSize = 11, kMaxAcSize = 10;  // ITU-T T.81, tables F.1 and F.2, for 8 bits
inline constexpr unsigned kMaxAcLength = kAcLookupBits - 1 + kMaxAcSize;
static_assert(sizeof(AcEntry) == 8);

struct DcTable {
  std::array<DcEntry, 1 << kDcLookupBits> entry;
  LongCodes codes;
};

struct AcTable {
  alignas(64) std::array<AcEntry, 1 << kAcLookupBits> entry;
  LongCodes codes;
};

// False for a table that libjpeg refuses, or whose values are larger than baseline images have.
bool build(const HuffmanSpec& spec, DcTable& table);
bool build(const HuffmanSpec& spec, AcTable& table);

// T.81 F.2.2.1, EXTEND, of the `size` bits after the first `skip` ones; size 0 to 15.
inline std::int16_t read_value(std::uint64_t bits, unsigned skip, unsigned size) {
  bits <<= skip;
  const auto v = static_cast<std::int32_t>(bits >> 1 >> (63 - size));
  const auto negative = static_cast<std::int32_t>(~static_cast<std::int64_t>(bits) >> 63);  // all ones or zero
  return static_cast<std::int16_t>(v + (negative & (1 - (1 << size))));
}

// Single entries for any code, with rest 0; kBadCode as advance (AC) or code_length (DC) if it is not a code. `bits`
// holds the next bits from the top; the code is known to have `shortest` of them or more.
DcEntry long_code(const DcTable& table, std::uint64_t bits);
AcEntry long_code(const AcTable& table, std::uint64_t bits, unsigned shortest = 1);

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
