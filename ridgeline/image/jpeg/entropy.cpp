#include "ridgeline/image/jpeg/entropy.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/jpeg/entropy.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Plain code: it is compiled for each instruction set for the sake of its three-operand shifts.
HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {

HWY_INLINE std::uint64_t load_big_endian(const std::uint8_t* p) {
  std::uint64_t value;
  std::memcpy(&value, p, sizeof value);
  return __builtin_bswap64(value);
}

// What the inner loop keeps in registers.
struct Hot {
  std::uint64_t bits;
  std::uint32_t count;
  unsigned place;
  const std::uint8_t* next;
  std::int16_t* block;
  const AcTable* table;
  EntropyStream::Block* plan;
};

HWY_INLINE Hot load(EntropyStream& s) {
  EntropyStream::Block* const plan = &s.plan[static_cast<std::size_t>(s.index)];
  return {s.bits, s.count, s.place, s.next, s.block, plan->ac, plan};
}

HWY_INLINE void save(const Hot& h, EntropyStream& s) {
  s.bits = h.bits;
  s.count = h.count;
  s.place = h.place;
  s.next = h.next;
  s.block = h.block;
  s.index = static_cast<int>(h.plan - s.plan.data());
}

// At least 56 bits, without a branch.
HWY_INLINE void refill(Hot& h) {
  h.bits |= load_big_endian(h.next) >> (h.count & 63);
  h.next += ~h.count >> 3 & 7;
  h.count |= 56;
}

HWY_INLINE void consume(Hot& h, unsigned length) {
  h.bits <<= length & 63;
  h.count -= length;
}

// The DC coefficient of the plan's current block. Leaves kMaxAcLength bits: no refill is needed.
HWY_INLINE bool begin_block(Hot& h, EntropyStream& s) {
  if (HWY_UNLIKELY(h.next > s.limit)) return false;
  EntropyStream::Block& plan = *h.plan;
  h.block = plan.to;
  plan.to += plan.step;
  h.table = plan.ac;
  refill(h);
  DcEntry entry = plan.dc->entry[h.bits >> (64 - kDcLookupBits)];
  if (HWY_UNLIKELY(entry.code_length == 0)) {
    entry = long_code(*plan.dc, h.bits);
    if (entry.code_length == kBadCode) return false;
  }
  std::int32_t& dc = s.dc[static_cast<std::size_t>(plan.component)];
  dc += read_value(h.bits, entry.code_length, entry.size);
  static_assert(16 + kMaxDcSize + kMaxAcLength <= 56);
  consume(h, unsigned{entry.code_length} + entry.size);
  if (HWY_UNLIKELY(dc > plan.dc_limit || dc < -plan.dc_limit)) return false;
  std::memset(h.block, 0, 64 * sizeof *h.block);
  h.block[0] = static_cast<std::int16_t>(dc);
  h.place = 0;
  return true;
}

// After an entry that reached the block's last position or went beyond. False: stop.
HWY_INLINE bool end_block(Hot& h, EntropyStream& s, const AcEntry& entry, unsigned first, unsigned second) {
  if (HWY_UNLIKELY(first == 63 && second != 63)) {
    // The second coefficient of the pair belongs to the next block: give its bits back.
    std::uint64_t position = static_cast<std::uint64_t>(h.next - s.base) * 8 - (h.count & 63) - entry.length;
    position += long_code(*h.table, load_big_endian(s.base + (position >> 3)) << (position & 7)).length;
    h.next = s.base + (position >> 3);
    h.bits = load_big_endian(h.next) << (position & 7);
    h.next += 7;
    h.count = 56 - static_cast<std::uint32_t>(position & 7);
    second = 63;
  } else if (HWY_UNLIKELY(first - 64 < 64 || second - 64 < 64)) {
    s.failed = true;
    return false;
  }
  s.last[(h.block - s.coefficients) >> 6] = static_cast<std::uint8_t>(second & 127);
  if (h.plan++->last) {
    h.plan = s.plan.data();
    if (s.ends)
      *s.ends++ = static_cast<std::uint32_t>(static_cast<std::uint64_t>(h.next - s.base) * 8 - (h.count & 63));
    if (--s.mcus_left == 0) return false;
  }
  if (HWY_LIKELY(begin_block(h, s))) return true;
  s.failed = true;
  return false;
}

// What end_block() sees of an entry beyond the lookup: no second coefficient.
constexpr AcEntry kSingle{};

// Needs kMaxAcLength bits.
HWY_INLINE bool advance(Hot& h, EntropyStream& s) {
  std::uint64_t index = h.bits >> (64 - kAcLookupBits);
  const unsigned length = h.table->entry[index].length;
  // The address of the other fields is computed in parallel with the load of the length, for which everything waits.
  asm("" : "+r"(index));
  const AcEntry* entry = &h.table->entry[index];
  unsigned first, second;
  if (HWY_LIKELY(length != 0)) {
    // Whether the value has a rest is unpredictable for the processor: so a rest of 0 bits is treated alike.
    const std::uint64_t all = h.bits >> (-length & 63), rest = all & ((std::uint64_t{1} << entry->rest) - 1);
    consume(h, length);
    first = h.place + entry->first;
    second = h.place + entry->second;
    h.block[second] = entry->second_value;
    h.block[first] = static_cast<std::int16_t>(entry->first_value + static_cast<std::int32_t>(rest));
  } else {
    refill(h);
    const AcEntry far = long_code(*h.table, h.bits, kAcLookupBits);
    consume(h, far.length);
    refill(h);
    first = second = h.place + far.first;
    h.block[first] = far.first_value;
    entry = &kSingle;
  }
  h.place = second;
  if (HWY_LIKELY(second < 63)) return true;
  return end_block(h, s, *entry, first, second);
}

void begin(EntropyStream& s) {
  Hot h = load(s);
  if (!begin_block(h, s)) s.failed = true;
  save(h, s);
}

// A refill is enough for two look-ups: longer codes refill themselves.
EntropyStream* decode(EntropyStream* first, EntropyStream* second) {
  Hot a = load(*first);
  if (second == nullptr) {
    do {
      refill(a);
    } while (advance(a, *first) && advance(a, *first));
    save(a, *first);
    return first;
  }
  Hot b = load(*second);
  do {
    refill(a);
    refill(b);
  } while (advance(a, *first) && advance(b, *second) && advance(a, *first) && advance(b, *second));
  save(a, *first);
  save(b, *second);
  return first->failed || first->mcus_left == 0 ? first : second;
}

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {

HWY_EXPORT(begin);
HWY_EXPORT(decode);

void EntropyStream::seek(std::uint64_t position) {
  next = base + (position >> 3);
  std::uint64_t value;
  std::memcpy(&value, next, sizeof value);
  bits = __builtin_bswap64(value) << (position & 7);
  next += 7;
  count = 56 - static_cast<std::uint32_t>(position & 7);
}

void begin_mcus(EntropyStream& stream) { HWY_DYNAMIC_DISPATCH(begin)(stream); }

EntropyStream* decode_mcus(EntropyStream* first, EntropyStream* second) {
  return HWY_DYNAMIC_DISPATCH(decode)(first, second);
}

}  // namespace ridgeline::image
#endif  // HWY_ONCE
