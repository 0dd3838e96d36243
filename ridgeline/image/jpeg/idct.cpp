#define HWY_WANT_AVX3_DL  // for AVX-512 with permutations of bytes and dot products

#include "ridgeline/image/jpeg/idct.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/image/jpeg/idct.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ridgeline::image::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3_DL
#pragma GCC target("avx512vnni")  // Highway asks the processor for it, but not the compiler
#endif

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

bool idct_row(const IdctRow& row) { return inverse_dct_plain(row); }

#else

// A block whose only coefficient is the first: both passes in one number.
HWY_INLINE std::uint8_t flat_pixel(int dc) {
  const int v = ((dc * 4 + 16) >> 5) + 128;
  return static_cast<std::uint8_t>(v < 0 ? 0 : v > 255 ? 255 : v);
}

// `blocks` flat blocks side by side; false when one is out of range.
HWY_INLINE bool flat_blocks(const IdctRow& row, int at, int blocks) {
  for (int i = at; i < at + blocks; ++i) {
    const auto dc = static_cast<std::int16_t>(row.coefficients[64 * i] * row.quant[0]);
    if (std::abs(dc) > 8191) return false;
    const std::uint64_t bytes = flat_pixel(dc) * 0x0101010101010101ull;
    std::uint8_t* out = row.out + 8 * static_cast<std::ptrdiff_t>(i);
    for (int y = 0; y < 8; ++y) std::memcpy(out + y * row.stride, &bytes, 8);
  }
  return true;
}

// Up to here in zigzag order the coefficients are in the first four rows and columns.
constexpr int kLastInFourRows = 9;

// One block in each 128 bits: interleaving and packing work inside these and undo each other there (x86, NEON).
constexpr std::size_t kBytes = HWY_TARGET <= HWY_AVX3 ? 64 : HWY_TARGET <= HWY_AVX2 ? 32 : 16;
constexpr int kBlocks = static_cast<int>(kBytes / 16);
using D8 = hn::FixedTag<std::uint8_t, kBytes>;
using D16 = hn::FixedTag<std::int16_t, kBytes / 2>;
using D32 = hn::FixedTag<std::int32_t, kBytes / 4>;
using D64 = hn::FixedTag<std::uint64_t, kBytes / 8>;
using V8 = hn::Vec<D8>;
using V16 = hn::Vec<D16>;
using V32 = hn::Vec<D32>;

// a * even + b * odd + sum in 32 bits for each pair (a, b) of neighbouring lanes.
HWY_INLINE V32 rotate(V16 pairs, int even, int odd, V32 sum) {
  const D32 d32;
  const auto both = static_cast<std::uint32_t>(even & 0xffff) | static_cast<std::uint32_t>(odd) << 16;
  const V32 words = hn::Set(d32, static_cast<std::int32_t>(both));
#if HWY_TARGET == HWY_AVX3_DL
  return V32{_mm512_dpwssd_epi32(sum.raw, pairs.raw, words.raw)};
#else
  // The sum begins with zero: only x86 keeps its lanes in place from the beginning.
  V32 rest = hn::Zero(d32);
  const V16 factors = hn::BitCast(D16(), words);
  const V32 products = hn::ReorderWidenMulAccumulate(d32, pairs, factors, hn::Zero(d32), rest);
  return hn::Add(sum, hn::RearrangeToOddPlusEven(products, rest));
#endif
}

struct Wide {
  V32 low, high;  // of each 128 bits
};

HWY_INLINE Wide rotate(V16 low, V16 high, int even, int odd, Wide sum) {
  return {rotate(low, even, odd, sum.low), rotate(high, even, odd, sum.high)};
}

HWY_INLINE Wide rotate(V16 low, V16 high, int even, int odd) {
  const V32 zero = hn::Zero(D32());
  return rotate(low, high, even, odd, {zero, zero});
}

// The 16-bit numbers times 2^13, with `round` added.
HWY_INLINE Wide scale(V16 v, V32 round) {
  const D16 d16;
  const D32 d32;
  const V16 zero = hn::Zero(d16);
  return {hn::Add(hn::ShiftRight<3>(hn::BitCast(d32, hn::InterleaveLower(d16, zero, v))), round),
          hn::Add(hn::ShiftRight<3>(hn::BitCast(d32, hn::InterleaveUpper(d16, zero, v))), round)};
}

HWY_INLINE Wide operator+(Wide a, Wide b) { return {hn::Add(a.low, b.low), hn::Add(a.high, b.high)}; }
HWY_INLINE Wide operator-(Wide a, Wide b) { return {hn::Sub(a.low, b.low), hn::Sub(a.high, b.high)}; }

template <int kShift>
HWY_INLINE V16 narrow(Wide v) {
  return hn::ReorderDemote2To(D16(), hn::ShiftRight<kShift>(v.low), hn::ShiftRight<kShift>(v.high));
}

template <int kShift>
HWY_INLINE void finish_pass(V16* HWY_RESTRICT v, Wide e0, Wide e1, Wide e2, Wide e3, Wide o0, Wide o1, Wide o2,
                            Wide o3) {
  v[0] = narrow<kShift>(e0 + o0);
  v[7] = narrow<kShift>(e0 - o0);
  v[1] = narrow<kShift>(e1 + o1);
  v[6] = narrow<kShift>(e1 - o1);
  v[2] = narrow<kShift>(e2 + o2);
  v[5] = narrow<kShift>(e2 - o2);
  v[3] = narrow<kShift>(e3 + o3);
  v[4] = narrow<kShift>(e3 - o3);
}

// The transform across the eight vectors, in place.
template <int kShift>
HWY_INLINE void one_pass(V16* HWY_RESTRICT v) {
  const D16 d16;
  const V32 round = hn::Set(D32(), 1 << (kShift - 1));
  const V16 low26 = hn::InterleaveLower(d16, v[2], v[6]), high26 = hn::InterleaveUpper(d16, v[2], v[6]);
  const Wide even3 = rotate(low26, high26, 4433 + 6270, 4433), even2 = rotate(low26, high26, 4433, 4433 - 15137);
  const Wide even0 = scale(hn::Add(v[0], v[4]), round), even1 = scale(hn::Sub(v[0], v[4]), round);
  const Wide e0 = even0 + even3, e1 = even1 + even2, e2 = even1 - even2, e3 = even0 - even3;

  const V16 z3 = hn::Add(v[7], v[3]), z4 = hn::Add(v[5], v[1]);
  const V16 low34 = hn::InterleaveLower(d16, z3, z4), high34 = hn::InterleaveUpper(d16, z3, z4);
  const Wide y3 = rotate(low34, high34, 9633 - 16069, 9633), y4 = rotate(low34, high34, 9633, 9633 - 3196);
  const V16 low71 = hn::InterleaveLower(d16, v[7], v[1]), high71 = hn::InterleaveUpper(d16, v[7], v[1]);
  const V16 low53 = hn::InterleaveLower(d16, v[5], v[3]), high53 = hn::InterleaveUpper(d16, v[5], v[3]);
  const Wide o3 = rotate(low71, high71, 2446 - 7373, -7373, y3), o0 = rotate(low71, high71, -7373, 12299 - 7373, y4);
  const Wide o2 = rotate(low53, high53, 16819 - 20995, -20995, y4),
             o1 = rotate(low53, high53, -20995, 25172 - 20995, y3);

  finish_pass<kShift>(v, e0, e1, e2, e3, o0, o1, o2, o3);
}

// The same when only the first four vectors are not zero: what remains of the sums above.
template <int kShift>
HWY_INLINE void one_sparse_pass(V16* HWY_RESTRICT v) {
  const D16 d16;
  const V32 half = hn::Set(D32(), 1 << (kShift - 1));
  const Wide round{half, half};
  const V16 low02 = hn::InterleaveLower(d16, v[0], v[2]), high02 = hn::InterleaveUpper(d16, v[0], v[2]);
  const Wide e0 = rotate(low02, high02, 8192, 4433 + 6270, round), e1 = rotate(low02, high02, 8192, 4433, round);
  const Wide e2 = rotate(low02, high02, 8192, -4433, round), e3 = rotate(low02, high02, 8192, -4433 - 6270, round);
  const V16 low13 = hn::InterleaveLower(d16, v[1], v[3]), high13 = hn::InterleaveUpper(d16, v[1], v[3]);
  const Wide o0 = rotate(low13, high13, 12299 - 7373 + 9633 - 3196, 9633);
  const Wide o1 = rotate(low13, high13, 9633, 25172 - 20995 + 9633 - 16069);
  const Wide o2 = rotate(low13, high13, 9633 - 3196, 9633 - 20995);
  const Wide o3 = rotate(low13, high13, 9633 - 7373, 9633 - 16069);
  finish_pass<kShift>(v, e0, e1, e2, e3, o0, o1, o2, o3);
}

HWY_INLINE void transpose(V16* HWY_RESTRICT v) {
  const D16 d16;
  const D32 d32;
  const D64 d64;
  V16 a[8];
  HWY_UNROLL(4)
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = hn::InterleaveLower(d16, v[2 * i], v[2 * i + 1]);
    a[2 * i + 1] = hn::InterleaveUpper(d16, v[2 * i], v[2 * i + 1]);
  }
  V32 b[8];
  HWY_UNROLL(2)
  for (int i = 0; i < 2; ++i) {
    HWY_UNROLL(2)
    for (int k = 0; k < 2; ++k) {
      const V32 x = hn::BitCast(d32, a[4 * i + k]), y = hn::BitCast(d32, a[4 * i + 2 + k]);
      b[4 * i + 2 * k] = hn::InterleaveLower(d32, x, y);
      b[4 * i + 2 * k + 1] = hn::InterleaveUpper(d32, x, y);
    }
  }
  HWY_UNROLL(4)
  for (int i = 0; i < 4; ++i) {
    const auto x = hn::BitCast(d64, b[i]), y = hn::BitCast(d64, b[4 + i]);
    v[2 * i] = hn::BitCast(d16, hn::InterleaveLower(d64, x, y));
    v[2 * i + 1] = hn::BitCast(d16, hn::InterleaveUpper(d64, x, y));
  }
}

// Pixels of two columns: in each block the eight rows of the first, then those of the second.
HWY_INLINE V8 two_columns(V16 first, V16 second) {
#if HWY_TARGET <= HWY_AVX3
  const V8 v{_mm512_packs_epi16(first.raw, second.raw)};
#elif HWY_TARGET <= HWY_AVX2
  const V8 v{_mm256_packs_epi16(first.raw, second.raw)};
#elif HWY_ARCH_X86
  const V8 v{_mm_packs_epi16(first.raw, second.raw)};
#else
  const hn::Rebind<std::int8_t, D16> half;
  const hn::Twice<decltype(half)> whole;
  const V8 v = hn::BitCast(D8(), hn::Combine(whole, hn::DemoteTo(half, second), hn::DemoteTo(half, first)));
#endif
  return hn::Xor(v, hn::Set(D8(), 128));  // + 128
}

// v[x] holds column x; stores 8 rows of 8 pixels a block.
HWY_INLINE void store_pixels(const V16* HWY_RESTRICT v, std::uint8_t* out, std::ptrdiff_t stride) {
  const D8 d8;
  const D64 d64;
  const hn::Half<D64> half64;
  const hn::Half<D8> half8;
  const V8 c01 = two_columns(v[0], v[1]), c23 = two_columns(v[2], v[3]);
  const V8 c45 = two_columns(v[4], v[5]), c67 = two_columns(v[6], v[7]);
  // Of each row columns 0 and 4, 1 and 5, 2 and 6, 3 and 7; then the even ones and the odd ones.
  const V8 c04 = hn::InterleaveLower(d8, c01, c45), c15 = hn::InterleaveUpper(d8, c01, c45);
  const V8 c26 = hn::InterleaveLower(d8, c23, c67), c37 = hn::InterleaveUpper(d8, c23, c67);
  const V8 even0 = hn::InterleaveLower(d8, c04, c26), even4 = hn::InterleaveUpper(d8, c04, c26);
  const V8 odd0 = hn::InterleaveLower(d8, c15, c37), odd4 = hn::InterleaveUpper(d8, c15, c37);
  const V8 rows[4] = {hn::InterleaveLower(d8, even0, odd0), hn::InterleaveUpper(d8, even0, odd0),
                      hn::InterleaveLower(d8, even4, odd4), hn::InterleaveUpper(d8, even4, odd4)};
  HWY_UNROLL(4)
  for (int i = 0; i < 4; ++i) {
    const auto two = hn::BitCast(d64, rows[i]);
    const auto even = hn::LowerHalf(half64, hn::ConcatEven(d64, two, two));
    const auto odd = hn::LowerHalf(half64, hn::ConcatOdd(d64, two, two));
    hn::StoreU(hn::BitCast(half8, even), half8, out + 2 * i * stride);
    hn::StoreU(hn::BitCast(half8, odd), half8, out + (2 * i + 1) * stride);
  }
}

#if HWY_TARGET <= HWY_AVX3

struct Quant {
  __m512i low, high;
};

HWY_INLINE Quant load_quant(const std::uint16_t* quant) {
  return {_mm512_loadu_si512(quant), _mm512_loadu_si512(quant + 32)};
}

// Four rows of each of four blocks, a block a vector, to four vectors of one row of each.
HWY_INLINE void exchange(const __m512i* block, V16* HWY_RESTRICT row) {
  const __m512i a = _mm512_shuffle_i32x4(block[0], block[1], 0x44), b = _mm512_shuffle_i32x4(block[0], block[1], 0xee);
  const __m512i c = _mm512_shuffle_i32x4(block[2], block[3], 0x44), d = _mm512_shuffle_i32x4(block[2], block[3], 0xee);
  row[0] = V16{_mm512_shuffle_i32x4(a, c, 0x88)};
  row[1] = V16{_mm512_shuffle_i32x4(a, c, 0xdd)};
  row[2] = V16{_mm512_shuffle_i32x4(b, d, 0x88)};
  row[3] = V16{_mm512_shuffle_i32x4(b, d, 0xdd)};
}

// The source of each position of a block: the inverse of kZigzag.
struct FromZigzag {
  alignas(64) std::int16_t at[64];
  constexpr FromZigzag() : at() {
    for (std::size_t k = 0; k < 64; ++k) at[kZigzag[k]] = static_cast<std::int16_t>(k);
  }
};
constexpr FromZigzag kFromZigzag;

#if HWY_TARGET == HWY_AVX3_DL
// The same for bytes of one half of the zigzag order: which of them, and the rows' numbers that the second half holds.
struct BytesFromZigzag {
  alignas(64) std::uint8_t at[2][64];
  std::uint64_t in_second_half[2];
  constexpr BytesFromZigzag() : at(), in_second_half() {
    for (int i = 0; i < 128; ++i) {
      const int from = kFromZigzag.at[i / 2];
      at[i / 64][i % 64] = static_cast<std::uint8_t>(2 * (from % 32) + i % 2);
      if (from >= 32) in_second_half[i / 64] |= std::uint64_t{1} << (i % 64);
    }
  }
};
constexpr BytesFromZigzag kBytesFromZigzag;

// Half of a block in natural order: 0 for its upper rows. Two permutations of one vector are faster than one of two.
HWY_INLINE __m512i natural_half(__m512i first, __m512i second, int half) {
  const __m512i at = _mm512_load_si512(kBytesFromZigzag.at[half]);
  return _mm512_mask_permutexvar_epi8(_mm512_permutexvar_epi8(at, first), kBytesFromZigzag.in_second_half[half], at,
                                      second);
}
#else
HWY_INLINE __m512i natural_half(__m512i first, __m512i second, int half) {
  return _mm512_permutex2var_epi16(first, _mm512_load_si512(kFromZigzag.at + 32 * half), second);
}
#endif

HWY_INLINE void load_blocks(const std::int16_t* in, const Quant& quant, V16* HWY_RESTRICT v) {
  __m512i upper[4], lower[4];
  HWY_UNROLL(4)
  for (int i = 0; i < 4; ++i) {
    const __m512i a = _mm512_mullo_epi16(_mm512_loadu_si512(in + 64 * i), quant.low);
    const __m512i b = _mm512_mullo_epi16(_mm512_loadu_si512(in + 64 * i + 32), quant.high);
    upper[i] = natural_half(a, b, 0);
    lower[i] = natural_half(a, b, 1);
  }
  exchange(upper, v);
  exchange(lower, v + 4);
}

// Only the first four rows, from the first half of the zigzag.
HWY_INLINE void load_sparse_blocks(const std::int16_t* in, const Quant& quant, V16* HWY_RESTRICT v) {
  const __m512i top = _mm512_load_si512(kFromZigzag.at);
  const __mmask32 in_first_half = _mm512_cmplt_epi16_mask(top, _mm512_set1_epi16(32));
  __m512i upper[4];
  HWY_UNROLL(4)
  for (int i = 0; i < 4; ++i) {
    const __m512i a = _mm512_mullo_epi16(_mm512_loadu_si512(in + 64 * i), quant.low);
    upper[i] = _mm512_maskz_permutexvar_epi16(in_first_half, top, a);
  }
  exchange(upper, v);
}

#else

using Quant = const std::uint16_t*;
HWY_INLINE Quant load_quant(const std::uint16_t* quant) { return quant; }

// Eight numbers for each of kBlocks blocks, which are so far apart.
template <int kApart, class D>
HWY_INLINE hn::Vec<D> load_row(D d, const std::int16_t* p) {
  if constexpr (hn::MaxLanes(D()) == 8) {
    return hn::LoadU(d, p);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_row<kApart>(half, p + kApart), load_row<kApart>(half, p));
  }
}

// Where each row of a block finds its eight coefficients among the eight vectors of eight of the zigzag order: for a
// row and a vector the bytes to take, or 128 for those that are elsewhere.
struct RowsFromZigzag {
  alignas(16) std::uint8_t at[8][8][16];
  bool any[8][8];
  constexpr RowsFromZigzag() : at(), any() {
    for (auto& row : at) {
      for (auto& vector : row) {
        for (std::uint8_t& byte : vector) byte = 128;
      }
    }
    for (std::size_t k = 0; k < 64; ++k) {
      const std::size_t row = kZigzag[k] / 8u, column = kZigzag[k] % 8u;
      any[row][k / 8] = true;
      for (std::size_t i = 0; i < 2; ++i) at[row][k / 8][2 * column + i] = static_cast<std::uint8_t>(2 * (k % 8) + i);
    }
  }
};
constexpr RowsFromZigzag kRowsFromZigzag;

template <std::size_t kRow, std::size_t kVector>
HWY_INLINE V16 with_part(V16 row, const V8* HWY_RESTRICT in) {
  if constexpr (kRowsFromZigzag.any[kRow][kVector]) {
    const V8 at = hn::LoadDup128(D8(), kRowsFromZigzag.at[kRow][kVector]);
    return hn::Or(row, hn::BitCast(D16(), hn::TableLookupBytesOr0(in[kVector], at)));
  } else {
    return row;
  }
}

template <std::size_t kRow, std::size_t... kVectors>
HWY_INLINE V16 natural_row(const V8* HWY_RESTRICT in, std::index_sequence<kVectors...>) {
  V16 row = hn::Zero(D16());
  ((row = with_part<kRow, kVectors>(row, in)), ...);
  return row;
}

// The first rows of kBlocks blocks, from the first kVectors vectors of their zigzag order: what lies behind is zero.
template <std::size_t kVectors, std::size_t... kRows>
HWY_INLINE void load_rows(const std::int16_t* in, Quant quant, V16* HWY_RESTRICT v, std::index_sequence<kRows...>) {
  const D16 d16;
  V8 parts[kVectors];
  HWY_UNROLL(8)
  for (std::size_t i = 0; i < kVectors; ++i) {
    const V16 factors = load_row<0>(d16, reinterpret_cast<const std::int16_t*>(quant) + 8 * i);
    parts[i] = hn::BitCast(D8(), hn::Mul(load_row<64>(d16, in + 8 * i), factors));
  }
  ((v[kRows] = natural_row<kRows>(parts, std::make_index_sequence<kVectors>())), ...);
}

HWY_INLINE void load_blocks(const std::int16_t* in, Quant quant, V16* HWY_RESTRICT v) {
  load_rows<8>(in, quant, v, std::make_index_sequence<8>());
}

// Only the first four rows.
HWY_INLINE void load_sparse_blocks(const std::int16_t* in, Quant quant, V16* HWY_RESTRICT v) {
  static_assert(kLastInFourRows < 16);
  load_rows<2>(in, quant, v, std::make_index_sequence<4>());
}

#endif

bool idct_row(const IdctRow& row) {
  const D16 d16;
  const Quant quant = load_quant(row.quant);
  const V16 above = hn::Set(d16, 8192), below = hn::Neg(above);
  const std::ptrdiff_t stride = row.stride;
  for (int i = 0; i < row.count; i += kBlocks) {
    int last = row.last[i];
    for (int k = 1; k < kBlocks; ++k) last = std::max<int>(last, row.last[i + k]);
    if (last == 0) {
      if (!flat_blocks(row, i, kBlocks)) return false;
      continue;
    }
    const std::int16_t* in = row.coefficients + 64 * static_cast<std::ptrdiff_t>(i);
    std::uint8_t* out = row.out + 8 * static_cast<std::ptrdiff_t>(i);
    V16 v[8];
    if (last <= kLastInFourRows) {
      load_sparse_blocks(in, quant, v);
      if (!hn::AllTrue(d16, hn::And(hn::Lt(v[0], above), hn::Gt(v[0], below)))) return false;
      one_sparse_pass<11>(v);
      transpose(v);
      one_sparse_pass<18>(v);
    } else {
      load_blocks(in, quant, v);
      if (!hn::AllTrue(d16, hn::And(hn::Lt(v[0], above), hn::Gt(v[0], below)))) return false;
      one_pass<11>(v);
      transpose(v);
      one_pass<18>(v);
    }
    store_pixels(v, out, stride);
  }
  return true;
}

#endif  // HWY_SCALAR || HWY_EMU128

}  // namespace ridgeline::image::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::image {

namespace {

constexpr int wrap(int v) { return static_cast<std::int16_t>(v); }
constexpr int saturate(int v) { return v < -32768 ? -32768 : v > 32767 ? 32767 : v; }
constexpr int sum32(std::uint32_t a, std::uint32_t b) { return static_cast<int>(a + b); }

void one_pass(int* v, int stride, int shift) {
  int* const in[8] = {
      v, v + stride, v + 2 * stride, v + 3 * stride, v + 4 * stride, v + 5 * stride, v + 6 * stride, v + 7 * stride};
  const int even2 = *in[2] * 4433 + *in[6] * (4433 - 15137), even3 = *in[2] * (4433 + 6270) + *in[6] * 4433;
  const int even0 = wrap(*in[0] + *in[4]) * 8192, even1 = wrap(*in[0] - *in[4]) * 8192;
  const int even[4] = {even0 + even3, even1 + even2, even1 - even2, even0 - even3};
  const int z3 = wrap(*in[7] + *in[3]), z4 = wrap(*in[5] + *in[1]);
  const int y3 = z3 * (9633 - 16069) + z4 * 9633, y4 = z3 * 9633 + z4 * (9633 - 3196);
  const int odd[4] = {
      sum32(*in[7] * -7373 + *in[1] * (12299 - 7373), y4), sum32(*in[5] * -20995 + *in[3] * (25172 - 20995), y3),
      sum32(*in[5] * (16819 - 20995) + *in[3] * -20995, y4), sum32(*in[7] * (2446 - 7373) + *in[1] * -7373, y3)};
  for (int i = 0; i < 4; ++i) {
    const auto a = static_cast<std::uint32_t>(even[i]) + (1u << (shift - 1)), b = static_cast<std::uint32_t>(odd[i]);
    *in[i] = saturate(static_cast<int>(a + b) >> shift);
    *in[7 - i] = saturate(static_cast<int>(a - b) >> shift);
  }
}

}  // namespace

bool inverse_dct_plain(const IdctRow& row) {
  for (int i = 0; i < row.count; ++i) {
    int v[64];
    for (std::size_t k = 0; k < 64; ++k)
      v[kZigzag[k]] = wrap(row.coefficients[64 * i + static_cast<int>(k)] * row.quant[k]);
    for (int x = 0; x < 8; ++x) {
      if (std::abs(v[x]) > 8191) return false;
    }
    for (int x = 0; x < 8; ++x) one_pass(v + x, 8, 11);
    for (int y = 0; y < 8; ++y) {
      one_pass(v + 8 * y, 1, 18);
      std::uint8_t* out = row.out + y * row.stride + 8 * static_cast<std::ptrdiff_t>(i);
      for (int x = 0; x < 8; ++x) {
        const int p = v[8 * y + x];
        out[x] = static_cast<std::uint8_t>((p < -128 ? -128 : p > 127 ? 127 : p) + 128);
      }
    }
  }
  return true;
}

HWY_EXPORT(idct_row);

bool inverse_dct(const IdctRow& row) { return HWY_DYNAMIC_DISPATCH(idct_row)(row); }

}  // namespace ridgeline::image
#endif  // HWY_ONCE
