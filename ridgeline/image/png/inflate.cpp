#include "ridgeline/image/png/inflate.h"

#include <algorithm>
#include <array>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/png/inflate.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Mostly plain code: it is compiled for each instruction set for the sake of its three-operand shifts.
HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr unsigned kLookupBits = 11, kDistanceBits = 9, kLongest = 15;
constexpr std::size_t kLiterals = 288, kDistances = 32, kEndSymbol = 256;

// The meaning of the next bits. From the lowest: 8 bits for the length of the code, 8 for the kind, 16 for the value. A
// kind of 1 or 2 is so many literals, which are the value; kLengths and more is a length or a distance, of which the
// value is the base and the rest of the kind the number of extra bits; 0 is a code that the look-up does not hold.
using Entry = std::uint32_t;
constexpr unsigned kUnknown = 0, kEnd = 3, kLengths = 16;
constexpr Entry make_entry(unsigned bits, unsigned kind, unsigned value) { return bits | kind << 8 | value << 16; }
constexpr unsigned bits_of(Entry e) { return e & 255; }
constexpr unsigned kind_of(Entry e) { return e >> 8 & 255; }
constexpr unsigned value_of(Entry e) { return e >> 16; }

// RFC 1951, 3.2.5: symbols of lengths and distances, without their codes.
struct Symbols {
  std::array<Entry, kLiterals> literal{};
  std::array<Entry, kDistances> distance{};
  constexpr Symbols() {
    for (unsigned s = 0; s < kEndSymbol; ++s) literal[s] = make_entry(0, 1, s);
    literal[kEndSymbol] = make_entry(0, kEnd, 0);
    unsigned base = 3;
    for (unsigned s = 257; s < 285; ++s) {
      const unsigned extra = s < 265 ? 0 : (s - 261) / 4;
      literal[s] = make_entry(0, kLengths + extra, base);
      base += 1u << extra;
    }
    literal[285] = make_entry(0, kLengths, 258);
    base = 1;
    for (unsigned s = 0; s < 30; ++s) {
      const unsigned extra = s < 4 ? 0 : (s - 2) / 2;
      distance[s] = make_entry(0, kLengths + extra, base);
      base += 1u << extra;
    }
  }
};
constexpr Symbols kSymbols;

// The next bits are the lowest ones of `value`, `count` of them; the bits above are zero or those that follow.
struct Bits {
  const std::uint8_t* base;
  const std::uint8_t* next;
  const std::uint8_t* limit;  // `next` may not be beyond
  std::uint64_t value = 0;
  std::uint32_t count = 0;

  explicit Bits(std::span<const std::uint8_t> stream)
      : base(stream.data()), next(base), limit(base + stream.size() + 8) {}
  // At least 56.
  HWY_INLINE void refill() {
    std::uint64_t more;
    std::memcpy(&more, next, sizeof more);
    value |= more << count;
    next += (63 - count) >> 3;
    count |= 56;
  }
  HWY_INLINE void consume(unsigned bits) {
    value >>= bits;
    count -= bits;
  }
  HWY_INLINE unsigned take(unsigned bits) {
    const auto taken = static_cast<unsigned>(value & ((std::uint64_t{1} << bits) - 1));
    consume(bits);
    return taken;
  }
  std::size_t position() const { return static_cast<std::size_t>(next - base) * 8 - count; }
  void seek_byte(std::size_t byte) {
    next = base + byte;
    value = count = 0;
  }
};

unsigned reversed(unsigned code, unsigned length) {
  unsigned result = 0;
  for (unsigned i = 0; i < length; ++i) result |= (code >> i & 1) << (length - 1 - i);
  return result;
}

// One code: its look-up table by the next kBits bits, and longer codes in order.
template <unsigned kBits, std::size_t kMost>
struct Code {
  std::array<Entry, std::size_t{1} << kBits> entry;
  std::array<std::uint16_t, kLongest + 1> count;
  std::array<Entry, kMost> ordered;  // with their lengths

  // False for lengths that zlib refuses; an incomplete code is only let pass as zlib does, as one of a single bit.
  bool build(std::span<const std::uint8_t> lengths, const Entry* symbols, bool may_be_single) {
    count.fill(0);
    for (const std::uint8_t length : lengths) ++count[length];
    count[0] = 0;
    int left = 1;
    unsigned codes = 0;
    std::array<std::uint16_t, kLongest + 1> place{}, code{};
    for (unsigned length = 1; length <= kLongest; ++length) {
      left = 2 * left - count[length];
      if (left < 0) return false;
      place[length] = static_cast<std::uint16_t>(codes);
      codes += count[length];
      code[length] = static_cast<std::uint16_t>((code[length - 1] + count[length - 1]) * 2);
    }
    if (left > 0 && !(may_be_single && codes == count[1] && codes <= 1)) return false;
    entry.fill(0);
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
      const unsigned length = lengths[symbol];
      if (length == 0) continue;
      const Entry made = symbols[symbol] | length;
      ordered[place[length]++] = made;
      const unsigned bits = reversed(code[length]++, length);
      for (std::size_t i = bits; length <= kBits && i < entry.size(); i += std::size_t{1} << length) entry[i] = made;
    }
    return true;
  }
  // Two literals whose codes fit share an entry. From the end on: an entry looks at one before it.
  void pair_literals() {
    for (std::size_t i = entry.size(); i-- > 0;) {
      const Entry first = entry[i];
      if (kind_of(first) != 1) continue;
      const Entry second = entry[i >> bits_of(first)];
      const unsigned bits = bits_of(first) + bits_of(second);
      if (kind_of(second) == 1 && bits <= kBits)
        entry[i] = make_entry(bits, 2, value_of(first) | value_of(second) << 8);
    }
  }
  // Of a code longer than kBits, bit by bit; 0 for none. Its literals come one by one.
  Entry find(std::uint64_t bits) const {
    unsigned code = 0, first = 0, index = 0;
    for (unsigned length = 1; length <= kLongest; ++length, bits >>= 1) {
      code = code << 1 | (bits & 1);
      first <<= 1;
      if (code - first < count[length]) return ordered[index + code - first];
      index += count[length];
      first += count[length];
    }
    return 0;
  }
};

struct Tables {
  Code<kLookupBits, kLiterals> literal;
  Code<kDistanceBits, kDistances> distance;

  bool build(std::span<const std::uint8_t> literals, std::span<const std::uint8_t> distances) {
    if (literals[kEndSymbol] == 0 || !literal.build(literals, kSymbols.literal.data(), false) ||
        !distance.build(distances, kSymbols.distance.data(), true)) {
      return false;
    }
    literal.pair_literals();
    return true;
  }
};

bool fixed_tables(Tables& tables) {
  std::array<std::uint8_t, kLiterals> literals;
  for (std::size_t s = 0; s < kLiterals; ++s) literals[s] = s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8;
  std::array<std::uint8_t, kDistances> distances;
  distances.fill(5);
  return tables.build(literals, distances);
}

// The codes of a block with its own (3.2.7).
bool read_tables(Bits& bits, Tables& tables) {
  constexpr std::uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  constexpr Entry symbols[19] = {0 << 16,  1 << 16,  2 << 16,  3 << 16,  4 << 16,  5 << 16,  6 << 16,
                                 7 << 16,  8 << 16,  9 << 16,  10 << 16, 11 << 16, 12 << 16, 13 << 16,
                                 14 << 16, 15 << 16, 16 << 16, 17 << 16, 18 << 16};
  bits.refill();
  const std::size_t literals = bits.take(5) + 257, distances = bits.take(5) + 1, named = bits.take(4) + 4;
  if (literals > 286 || distances > 30) return false;
  std::array<std::uint8_t, 19> code_lengths{};
  for (std::size_t i = 0; i < named; ++i) {
    bits.refill();
    code_lengths[order[i]] = static_cast<std::uint8_t>(bits.take(3));
  }
  Code<7, 19> code;
  if (!code.build(code_lengths, symbols, false)) return false;
  std::array<std::uint8_t, kLiterals + kDistances> lengths;
  for (std::size_t i = 0; i < literals + distances;) {
    bits.refill();
    if (bits.next > bits.limit) return false;
    const Entry entry = code.entry[bits.value & 127];
    bits.consume(bits_of(entry));
    const unsigned symbol = value_of(entry);
    if (symbol < 16) {
      lengths[i++] = static_cast<std::uint8_t>(symbol);
      continue;
    }
    if (symbol == 16 && i == 0) return false;
    const std::size_t repeat = symbol == 16 ? 3 + bits.take(2) : symbol == 17 ? 3 + bits.take(3) : 11 + bits.take(7);
    if (i + repeat > literals + distances) return false;
    std::fill_n(lengths.data() + i, repeat, symbol == 16 ? lengths[i - 1] : std::uint8_t{0});
    i += repeat;
  }
  return tables.build({lengths.data(), literals}, {lengths.data() + literals, distances});
}

// Both ends may be overrun by a vector.
HWY_INLINE void copy_match(std::uint8_t* to, std::size_t distance, std::size_t length) {
  const std::uint8_t* from = to - distance;
  if (distance >= 16) {
    for (std::size_t i = 0; i < length; i += 16) std::memcpy(to + i, from + i, 16);
  } else if (distance >= 8) {
    for (std::size_t i = 0; i < length; i += 8) std::memcpy(to + i, from + i, 8);
  } else if (distance == 1) {
    std::memset(to, *from, length);
  } else {
    for (std::size_t i = 0; i < length; ++i) to[i] = from[i];
  }
}

// One block's symbols. Null: an invalid block; otherwise the new end of the data.
std::uint8_t* read_symbols(Bits& given, const Tables& tables, std::uint8_t* begin, std::uint8_t* out,
                           const std::uint8_t* end) {
  Bits bits = given;  // in registers
  const Entry* const literals = tables.literal.entry.data();
  constexpr std::uint64_t mask = (1u << kLookupBits) - 1, distance_mask = (1u << kDistanceBits) - 1;
  const auto put = [&](Entry e) HWY_ATTR {
    const auto two = static_cast<std::uint16_t>(value_of(e));
    std::memcpy(out, &two, sizeof two);
    out += kind_of(e);
    bits.consume(bits_of(e));
  };
  const auto literal = [](Entry e) { return kind_of(e) - 1 < 2; };
  while (true) {
    bits.refill();
    if (HWY_UNLIKELY(bits.next > bits.limit || out > end)) return nullptr;
    Entry e = literals[bits.value & mask];
    // Three look-ups take at most 33 of the 56 bits; the code after them refills.
    if (literal(e)) {
      put(e);
      e = literals[bits.value & mask];
      if (literal(e)) {
        put(e);
        e = literals[bits.value & mask];
        if (literal(e)) {
          put(e);
          continue;
        }
      }
    }
    bits.refill();
    if (HWY_UNLIKELY(kind_of(e) == kUnknown)) {
      e = tables.literal.find(bits.value);
      if (literal(e)) {
        put(e);
        continue;
      }
      if (kind_of(e) == kUnknown) return nullptr;
    }
    bits.consume(bits_of(e));
    if (HWY_UNLIKELY(kind_of(e) == kEnd)) break;
    static_assert(2 * kLongest + 5 + 13 <= 56);
    const std::size_t length = value_of(e) + bits.take(kind_of(e) - kLengths);
    Entry d = tables.distance.entry[bits.value & distance_mask];
    if (HWY_UNLIKELY(kind_of(d) == kUnknown)) {
      d = tables.distance.find(bits.value);
      if (kind_of(d) == kUnknown) return nullptr;
    }
    bits.consume(bits_of(d));
    const std::size_t distance = value_of(d) + bits.take(kind_of(d) - kLengths);
    if (HWY_UNLIKELY(distance > static_cast<std::size_t>(out - begin))) return nullptr;
    copy_match(out, distance, length);
    out += length;
  }
  given = bits;
  return out <= end ? out : nullptr;
}

// RFC 1950, 8.2. Each lane sums every so many bytes, and its own sums.
std::uint32_t checksum(const std::uint8_t* in, std::size_t n) {
  constexpr std::uint64_t kPrime = 65521;
  const hn::ScalableTag<std::uint32_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> du8;
  const std::size_t lanes = hn::Lanes(d);
  std::uint64_t first = 1, second = 0;
  while (n >= lanes) {
    const std::size_t steps = std::min<std::size_t>(n / lanes, 4096);  // 255 * 4096 * 4097 / 2 fits 32 bits
    auto sum = hn::Zero(d), sums = sum;
    for (std::size_t i = 0; i < steps; ++i, in += lanes) {
      sum = hn::Add(sum, hn::PromoteTo(d, hn::LoadU(du8, in)));
      sums = hn::Add(sums, sum);
    }
    HWY_ALIGN std::uint32_t of_lane[hn::MaxLanes(d)], sums_of_lane[hn::MaxLanes(d)];
    hn::Store(sum, d, of_lane);
    hn::Store(sums, d, sums_of_lane);
    second += steps * lanes * first;
    for (std::size_t k = 0; k < lanes; ++k) {
      second += std::uint64_t{lanes} * sums_of_lane[k] - k * std::uint64_t{of_lane[k]};
      first += of_lane[k];
    }
    first %= kPrime;
    second %= kPrime;
    n -= steps * lanes;
  }
  for (; n > 0; --n) second += first += *in++;
  return static_cast<std::uint32_t>(second % kPrime << 16 | first % kPrime);
}

std::optional<InflatedEnds> inflate_stream(std::span<const std::uint8_t> stream, std::span<std::uint8_t> out) {
  if (stream.size() < 2 + 4) return std::nullopt;
  const unsigned method = stream[0], flags = stream[1];
  const bool known = (method & 15) == 8 && method >> 4 <= 7 && (method << 8 | flags) % 31 == 0 && (flags & 32) == 0;
  if (!known) return std::nullopt;
  Bits bits(stream);
  bits.seek_byte(2);
  Tables tables;
  std::uint8_t *to = out.data(), *const end = to + out.size();
  for (bool last = false; !last;) {
    bits.refill();
    last = bits.take(1) != 0;
    const unsigned type = bits.take(2);
    const std::uint8_t* const before = to;
    std::size_t symbol;  // where the block's last one ends, or before
    if (type == 0) {
      const std::size_t at = (bits.position() + 7) / 8;
      if (at + 4 > stream.size()) return std::nullopt;
      const unsigned size = stream[at] | stream[at + 1] << 8, check = stream[at + 2] | stream[at + 3] << 8;
      symbol = at + 4 + size;
      if ((size ^ check) != 0xffff || symbol > stream.size() || size > static_cast<std::size_t>(end - to))
        return std::nullopt;
      std::copy_n(stream.data() + at + 4, size, to);
      to += size;
      bits.seek_byte(symbol);
    } else {
      if (type == 3 || !(type == 1 ? fixed_tables(tables) : read_tables(bits, tables))) return std::nullopt;
      to = read_symbols(bits, tables, out.data(), to, end);
      if (!to) return std::nullopt;
      symbol = (bits.position() - std::min<std::size_t>(bits.position(), kLongest)) / 8;
    }
    if (!last) continue;
    const std::size_t at = (bits.position() + 7) / 8;
    if (to != end || to == before || at + 4 > stream.size()) return std::nullopt;
    std::uint32_t expected;
    std::memcpy(&expected, stream.data() + at, sizeof expected);
    if (__builtin_bswap32(expected) != checksum(out.data(), out.size())) return std::nullopt;
    return InflatedEnds{symbol, at + 4};
  }
  return std::nullopt;
}

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {

HWY_EXPORT(inflate_stream);

std::optional<InflatedEnds> inflate_whole(std::span<const std::uint8_t> stream, std::span<std::uint8_t> out) {
  return HWY_DYNAMIC_DISPATCH(inflate_stream)(stream, out);
}

}  // namespace ridgeline::image
#endif  // HWY_ONCE
