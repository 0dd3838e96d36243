#include "ridgeline/image/jpeg/huffman.h"

#include <algorithm>
#include <bit>

namespace ridgeline::image {
namespace {

constexpr std::size_t kSlots = 8;

unsigned advance_of(unsigned symbol) {
  // As libjpeg: without a value only (15, 0) continues, all others end the block.
  if ((symbol & 15) == 0 && symbol != 0xf0) return kEndOfBlock;
  return (symbol >> 4) + 1;
}

// Lists the codes: calls each(symbol, code, length) from the shortest on. False for an invalid table.
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

// The code that the bits begin with, of `shortest` bits or more: its length and symbol. False for none.
bool find_code(const LongCodes& codes, std::uint64_t bits, unsigned shortest, unsigned& length, unsigned& symbol) {
  const auto top = static_cast<std::uint32_t>(bits >> 48);
  for (length = shortest; length <= 16 && top >= codes.end[length];) ++length;
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
  constexpr unsigned n = 1u << kAcLookupBits;
  std::array<std::uint64_t, n> single;  // entries as words
  const auto fill = [&](std::size_t begin, std::size_t count, const AcEntry& entry) {
    std::fill_n(single.begin() + static_cast<std::ptrdiff_t>(begin), count, std::bit_cast<std::uint64_t>(entry));
  };
  std::size_t listed = 0;  // codes come in their order
  const bool good = list_codes(spec, true, table.codes, [&](unsigned symbol, unsigned code, unsigned length) {
    if (length > kAcLookupBits) return;
    const unsigned rest = kAcLookupBits - length, size = symbol & 15;
    const auto advance = static_cast<std::uint8_t>(advance_of(symbol));
    const std::size_t begin = std::size_t{code} << rest;
    listed = begin + (std::size_t{1} << rest);
    const auto total = static_cast<std::uint8_t>(length + size);
    if (size > rest) {
      if (rest == 0) return fill(begin, 1, {});  // not even the sign is known: read as a longer code
      const std::size_t half = std::size_t{1} << (rest - 1);
      const auto negative = static_cast<std::int16_t>(1 - (1 << size)), none = std::int16_t{0};
      fill(begin, half, {total, advance, negative, advance, static_cast<std::uint8_t>(size), none});
      fill(begin + half, half, {total, advance, none, advance, static_cast<std::uint8_t>(size), none});
      return;
    }
    const unsigned same = 1u << (rest - size);
    for (unsigned v = 0; v < 1u << size; ++v) {
      const std::int16_t value = read_value(std::uint64_t{v} << (63 - size) << 1, 0, size);
      fill(begin + v * same, same, {total, advance, value, advance, 0, value});
    }
  });
  if (!good) return false;
  fill(listed, n - listed, {});
  // Pairs: an entry, and the one whose code and value follow in the bits. It adds its length, advance and value to the
  // entry; no sum overflows its field: lengths up to 11, advances up to 16 + kEndOfBlock.
  constexpr auto added = std::bit_cast<std::uint64_t>(AcEntry{0xff, 0, 0, 0xff, 0, -1});
  for (unsigned i = 0, same = 1; i < n; i += same) {
    const auto entry = std::bit_cast<AcEntry>(single[i]);
    same = entry.length > 0 && entry.length < kAcLookupBits ? n >> entry.length : 1;
    if (same == 1 || entry.first >= kBadCode) {
      std::fill_n(table.entry.begin() + i, same, entry);
      continue;
    }
    AcEntry alone = entry;
    alone.second_value = 0;
    const auto first = std::bit_cast<std::uint64_t>(alone);
    const unsigned rest = kAcLookupBits - entry.length;
    for (unsigned v = 0; v < same; ++v) {
      const std::uint64_t next = single[v << entry.length];
      const auto length = static_cast<unsigned>(std::bit_cast<AcEntry>(next).length);
      const bool whole = length - 1 < rest;  // not for a length of 0
      table.entry[i + v] = std::bit_cast<AcEntry>(whole ? first + (next & added) : single[i]);
    }
  }
  return true;
}

DcEntry long_code(const DcTable& table, std::uint64_t bits) {
  unsigned length = 0, size = 0;
  if (!find_code(table.codes, bits, 1, length, size)) return {kBadCode, 0};
  return {static_cast<std::uint8_t>(length), static_cast<std::uint8_t>(size)};
}

AcEntry long_code(const AcTable& table, std::uint64_t bits, unsigned shortest) {
  unsigned length = 0, symbol = 0;
  if (!find_code(table.codes, bits, shortest, length, symbol)) return {16, kBadCode, 0, kBadCode, 0, 0};
  const std::int16_t value = read_value(bits, length, symbol & 15);
  const auto total = static_cast<std::uint8_t>(length + (symbol & 15));
  const auto advance = static_cast<std::uint8_t>(advance_of(symbol));
  return {total, advance, value, advance, 0, value};
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
