#include "ridgeline/image/jpeg_huffman.h"

#include <algorithm>

namespace ridgeline::image {
namespace {

constexpr std::size_t kSlots = 8;
constexpr int kMaxDcSize = 11, kMaxAcSize = 10;  // ITU-T T.81, tables F.1 and F.2, for 8 bits

// T.81 F.2.2.1, EXTEND: `size` bits as a signed number.
int extend(unsigned value, int size) {
  if (size == 0) return 0;
  const int v = static_cast<int>(value);
  return v < 1 << (size - 1) ? v - (1 << size) + 1 : v;
}

std::uint32_t pack(int length, unsigned advance, int value) {
  return static_cast<std::uint32_t>(length) | advance << 8 | std::uint32_t{static_cast<std::uint16_t>(value)} << 16;
}

unsigned advance_of(unsigned symbol, bool ac) {
  if (!ac) return 1;
  // As libjpeg: without a value only (15, 0) goes on, all others end the block.
  if ((symbol & 15) == 0 && symbol != 0xf0) return kEndOfBlock;
  return (symbol >> 4) + 1;
}

// Entries of single coefficients over `bits` bits.
bool fill_singles(const HuffmanSpec& spec, bool ac, int bits, std::uint32_t* entry, LongCodes& codes) {
  unsigned code = 0;
  std::size_t index = 0;
  for (int length = 1; length <= 16; ++length) {
    codes.first[static_cast<std::size_t>(length)] = static_cast<int>(index) - static_cast<int>(code);
    for (int i = 0; i < spec.counts[static_cast<std::size_t>(length - 1)]; ++i, ++code, ++index) {
      const unsigned symbol = spec.symbols[index];
      const int size = static_cast<int>(ac ? symbol & 15 : symbol);
      if (size > (ac ? kMaxAcSize : kMaxDcSize)) return false;
      codes.symbol[index] = static_cast<std::uint8_t>(symbol);
      if (length > bits) continue;
      const unsigned advance = advance_of(symbol, ac);
      const int rest = bits - length;
      if (code >> length != 0) return false;
      for (unsigned tail = 0; tail < 1u << rest; ++tail) {
        std::uint32_t& e = entry[code << rest | tail];
        if (size <= rest) {
          e = pack(length + size, advance, extend(tail >> (rest - size), size));
        } else {
          e = advance << 8 | static_cast<std::uint32_t>(length) << 16 | static_cast<std::uint32_t>(size) << 21;
        }
      }
    }
    if (code >= 1u << length && code != 0) return false;  // libjpeg: no code may be all ones
    codes.end[static_cast<std::size_t>(length)] = code << (16 - length);
    code <<= 1;
  }
  codes.end[17] = 0xffffffff;
  return true;
}

// A single entry for the bits, by the slow way.
std::uint32_t long_entry(const LongCodes& codes, bool ac, std::uint64_t bits, std::uint32_t entry) {
  int length = static_cast<int>(entry >> 16 & 31), size = static_cast<int>(entry >> 21 & 15);
  unsigned advance = entry >> 8 & 255;
  if (entry == 0) {
    const auto top = static_cast<std::uint32_t>(bits >> 48);
    for (length = 1; length <= 16 && top >= codes.end[static_cast<std::size_t>(length)];) ++length;
    if (length > 16) return pack(16, kBadCode, 0);
    const int index = static_cast<int>(top >> (16 - length)) + codes.first[static_cast<std::size_t>(length)];
    const unsigned symbol = codes.symbol[static_cast<std::size_t>(index & 255)];
    advance = advance_of(symbol, ac);
    size = static_cast<int>(ac ? symbol & 15 : symbol);
  }
  const unsigned value = size == 0 ? 0 : static_cast<unsigned>(bits << length >> (64 - size));
  return pack(length + size, advance, extend(value, size));
}

std::uint64_t twice(std::uint32_t single) {
  const std::uint64_t advance = single >> 8 & 255, value = single >> 16;
  return single | advance << 32 | std::uint64_t{single & 63} << 40 | value << 48;
}

}  // namespace

bool build(const HuffmanSpec& spec, DcTable& table) {
  return fill_singles(spec, false, kDcLookupBits, table.entry.data(), table.codes);
}

bool build(const HuffmanSpec& spec, AcTable& table) {
  constexpr unsigned n = 1u << kAcLookupBits;
  std::array<std::uint32_t, n> single{};
  if (!fill_singles(spec, true, kAcLookupBits, single.data(), table.codes)) return false;
  for (unsigned i = 0; i < n; ++i) {
    const std::uint32_t first = single[i];
    const unsigned length = first & 63, advance = first >> 8 & 255;
    if (length == 0) {
      table.entry[i] = first;
      continue;
    }
    table.entry[i] = twice(first);
    if (advance >= kBadCode) continue;
    const std::uint32_t second = single[i << length & (n - 1)];
    const unsigned both = length + (second & 63);
    if ((second & 63) == 0 || both > kAcLookupBits) continue;
    const std::uint64_t to_second = advance + (second >> 8 & 255);
    table.entry[i] = (first & 0xffffff00u) | both | to_second << 32 | std::uint64_t{length} << 40 |
                     std::uint64_t{second >> 16} << 48;
  }
  return true;
}

std::uint32_t long_dc_entry(const DcTable& table, std::uint64_t bits, std::uint32_t entry) {
  return long_entry(table.codes, false, bits, entry);
}

std::uint64_t long_ac_entry(const AcTable& table, std::uint64_t bits, std::uint64_t entry) {
  return twice(long_entry(table.codes, true, bits, static_cast<std::uint32_t>(entry)));
}

template <class Table>
const Table* HuffmanCache::find(const HuffmanSpec& spec, std::vector<Slot<Table>>& slots) {
  ++clock_;
  for (Slot<Table>& slot : slots) {
    if (slot.spec != spec) continue;
    slot.used = clock_;
    return slot.table.get();
  }
  auto table = std::make_unique<Table>();
  if (!build(spec, *table)) return nullptr;
  if (slots.size() < kSlots) {
    slots.push_back({});
    slots.back().table = std::move(table);
    slots.back().spec = spec;
    slots.back().used = clock_;
    return slots.back().table.get();
  }
  auto oldest = std::min_element(slots.begin(), slots.end(), [](auto& a, auto& b) { return a.used < b.used; });
  *oldest = {spec, clock_, std::move(table)};
  return oldest->table.get();
}

template const DcTable* HuffmanCache::find(const HuffmanSpec&, std::vector<Slot<DcTable>>&);
template const AcTable* HuffmanCache::find(const HuffmanSpec&, std::vector<Slot<AcTable>>&);

}  // namespace ridgeline::image
