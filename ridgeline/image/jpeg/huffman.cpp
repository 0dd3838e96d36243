#include "ridgeline/image/jpeg/huffman.h"

#include <algorithm>

namespace ridgeline::image {
namespace {

constexpr std::size_t kSlots = 8;
constexpr unsigned kMaxDcSize = 11, kMaxAcSize = 10;  // ITU-T T.81, tables F.1 and F.2, for 8 bits

unsigned advance_of(unsigned symbol) {
  // As libjpeg: without a value only (15, 0) goes on, all others end the block.
  if ((symbol & 15) == 0 && symbol != 0xf0) return kEndOfBlock;
  return (symbol >> 4) + 1;
}

// Lists the codes: calls each(symbol, code, length) from the shortest on. False for a table that is none.
template <class Each>
bool list_codes(const HuffmanSpec& spec, bool ac, LongCodes& codes, Each each) {
  unsigned code = 0;
  std::size_t index = 0;
  for (unsigned length = 1; length <= 16; ++length) {
    codes.first[length] = static_cast<int>(index) - static_cast<int>(code);
    const unsigned count = spec.counts[length - 1];
    if (count > 0 && code + count >= 1u << length) return false;  // libjpeg: no code may be all ones
    for (unsigned i = 0; i < count; ++i, ++code, ++index) {
      const unsigned symbol = spec.symbols[index];
      if (ac ? (symbol & 15) > kMaxAcSize : symbol > kMaxDcSize) return false;
      codes.symbol[index] = static_cast<std::uint8_t>(symbol);
      each(symbol, code, length);
    }
    codes.end[length] = code << (16 - length);
    code <<= 1;
  }
  return true;
}

// The code that the bits begin with: its length and symbol. False for none.
bool find_code(const LongCodes& codes, std::uint64_t bits, unsigned& length, unsigned& symbol) {
  const auto top = static_cast<std::uint32_t>(bits >> 48);
  for (length = 1; length <= 16 && top >= codes.end[length];) ++length;
  if (length > 16) return false;
  const int index = static_cast<int>(top >> (16 - length)) + codes.first[length];
  symbol = codes.symbol[static_cast<std::size_t>(index & 255)];
  return true;
}

}  // namespace

bool build(const HuffmanSpec& spec, DcTable& table) {
  table.entry = {};
  return list_codes(spec, false, table.codes, [&](unsigned size, unsigned code, unsigned length) {
    if (length > kDcLookupBits) return;
    const unsigned rest = kDcLookupBits - length;
    std::fill_n(table.entry.begin() + (code << rest), std::size_t{1} << rest,
                DcEntry{static_cast<std::uint8_t>(length), static_cast<std::uint8_t>(size)});
  });
}

bool build(const HuffmanSpec& spec, AcTable& table) {
  table.entry = {};
  const bool good = list_codes(spec, true, table.codes, [&](unsigned symbol, unsigned code, unsigned length) {
    if (length > kAcLookupBits) return;
    const unsigned rest = kAcLookupBits - length, size = symbol & 15;
    const auto advance = static_cast<std::uint8_t>(advance_of(symbol));
    AcEntry* const begin = table.entry.data() + (code << rest);
    if (size > rest) {
      const AcEntry far{0, advance, static_cast<std::int16_t>(size), 0, static_cast<std::uint8_t>(length), 0};
      std::fill_n(begin, std::size_t{1} << rest, far);
      return;
    }
    const unsigned same = 1u << (rest - size);
    for (unsigned v = 0; v < 1u << size; ++v) {
      const std::int16_t value = read_value(std::uint64_t{v} << (63 - size) << 1, 0, size);
      const auto total = static_cast<std::uint8_t>(length + size);
      std::fill_n(begin + v * same, same, AcEntry{total, advance, value, advance, total, value});
    }
  });
  if (!good) return false;
  // Pairs. What follows an entry lies at an index that may itself have become a pair: its first half still stands.
  constexpr unsigned n = 1u << kAcLookupBits;
  for (unsigned i = 0; i < n; ++i) {
    AcEntry& entry = table.entry[i];
    if (entry.length == 0 || entry.first >= kBadCode) continue;
    const AcEntry& next = table.entry[i << entry.first_length & (n - 1)];
    const unsigned both = entry.first_length + next.first_length;
    if (next.length == 0 || both > kAcLookupBits) continue;
    entry.length = static_cast<std::uint8_t>(both);
    entry.second = static_cast<std::uint8_t>(entry.first + next.first);
    entry.second_value = next.first_value;
  }
  return true;
}

DcEntry long_code(const DcTable& table, std::uint64_t bits) {
  unsigned length = 0, size = 0;
  if (!find_code(table.codes, bits, length, size)) return {kBadCode, 0};
  return {static_cast<std::uint8_t>(length), static_cast<std::uint8_t>(size)};
}

AcEntry long_code(const AcTable& table, std::uint64_t bits) {
  unsigned length = 0, symbol = 0;
  if (!find_code(table.codes, bits, length, symbol)) return {16, kBadCode, 0, kBadCode, 16, 0};
  const std::int16_t value = read_value(bits, length, symbol & 15);
  const auto total = static_cast<std::uint8_t>(length + (symbol & 15));
  const auto advance = static_cast<std::uint8_t>(advance_of(symbol));
  return {total, advance, value, advance, total, value};
}

template <class Table>
const Table* HuffmanCache::find(const HuffmanSpec& spec, std::vector<Slot<Table>>& slots) {
  ++clock_;
  for (Slot<Table>& slot : slots) {
    if (slot.spec != spec) continue;
    slot.used = clock_;
    return slot.table.get();
  }
  auto table = std::make_unique_for_overwrite<Table>();
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
