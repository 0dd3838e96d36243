#include "ridgeline/device/cpu/pool/max_pool.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "ridgeline/device/cpu/common.h"
#include "ridgeline/device/cpu/pool/pool_geometry.h"
#include "ridgeline/device/cpu/pool/pool_index.h"
#include "ridgeline/device/cpu/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/pool/max_pool.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls some(count, c) for `count` (a constant, 2 or 1) vectors of channels from c on. Where the channels end within a
// vector, the last one begins earlier and recomputes some of them: there is at least one full vector.
template <class Some>
HWY_INLINE void for_two_vectors(std::int64_t channels, std::int64_t lanes, const Some& some) {
  std::int64_t c = 0;
  for (; c + 2 * lanes <= channels; c += 2 * lanes) some(std::integral_constant<int, 2>(), c);
  for (; c < channels; c += lanes) some(std::integral_constant<int, 1>(), std::min(c, channels - lanes));
}

#if HWY_TARGET != HWY_SCALAR
// The first maximum, or the first NaN, of some f32 vectors, and where it was found.
class WideMaximum {
 public:
  static constexpr std::int64_t kLanes = HWY_LANES(float);
  HWY_INLINE WideMaximum(const float* first, std::int64_t here) : best_(hn::LoadU(d_, first)), where_(position(here)) {}
  HWY_INLINE void take(const float* from, std::int64_t here) {
    const auto v = hn::LoadU(d_, from);
    // Greater, or the first NaN: NaN compares false with everything, and once it is the best it stays.
    const auto wins = hn::AndNot(hn::Le(v, best_), hn::Eq(best_, best_));
    best_ = hn::IfThenElse(wins, v, best_);
    where_ = hn::IfThenElse(hn::RebindMask(di_, wins), position(here), where_);
  }
  HWY_INLINE void store(float* y, std::uint8_t* index) const {
    hn::StoreU(best_, d_, y);
    const hn::Rebind<std::uint8_t, decltype(di_)> du8;
    hn::StoreU(hn::DemoteTo(du8, where_), du8, index);
  }

 private:
  static constexpr hn::ScalableTag<float> d_{};
  static constexpr hn::RebindToSigned<hn::ScalableTag<float>> di_{};
  static HWY_INLINE hn::Vec<decltype(di_)> position(std::int64_t at) {
    return hn::Set(di_, static_cast<std::int32_t>(at));
  }
  hn::Vec<decltype(d_)> best_;
  hn::Vec<decltype(di_)> where_;
};

// The same of bf16 vectors, twice as many lanes: compared as integers of the same order, in which -0 is 0 and every NaN
// is one number above infinity.
class NarrowMaximum {
 public:
  static constexpr std::int64_t kLanes = HWY_LANES(std::int16_t);
  HWY_INLINE NarrowMaximum(const bfloat16* first, std::int64_t here)
      : best_(load(first)), key_(key_of(best_)), where_(position(here)) {}
  HWY_INLINE void take(const bfloat16* from, std::int64_t here) {
    const auto v = load(from), key = key_of(v);
    const auto wins = hn::Gt(key, key_);
    key_ = hn::Max(key, key_);
    best_ = hn::IfThenElse(wins, v, best_);
    where_ = hn::IfThenElse(wins, position(here), where_);
  }
  HWY_INLINE void store(bfloat16* y, std::uint8_t* index) const {
    hn::StoreU(best_, d_, reinterpret_cast<std::int16_t*>(y));
    const hn::Rebind<std::uint8_t, decltype(d_)> du8;
    hn::StoreU(hn::DemoteTo(du8, where_), du8, index);
  }
  // A window of kSide x kSide pixels, all of them in the image, in less than half the time: non-negative values, as
  // after a relu, are ordered as their bits. False, and nothing is stored, where one is negative or NaN.
  template <int kSide>
  static HWY_INLINE bool take_window(const bfloat16* corner, std::int64_t row, std::int64_t pixel, bfloat16* y,
                                     std::uint8_t* index) {
    auto best = load(corner), where = hn::Zero(d_), signs = best;
    HWY_UNROLL(9)
    for (int at = 1; at < kSide * kSide; ++at) {
      const auto v = load(corner + at / kSide * row + at % kSide * pixel);
      where = hn::IfThenElse(hn::Gt(v, best), position(at), where);
      best = hn::Max(best, v);
      signs = hn::Or(signs, v);
    }
    const hn::RebindToUnsigned<decltype(d_)> du;
    const auto most = hn::BitCast(du, hn::Or(best, hn::And(signs, hn::Set(d_, kSign))));
    if (!hn::AllFalse(du, hn::Gt(most, hn::Set(du, std::uint16_t{kInfinity})))) return false;
    hn::StoreU(best, d_, reinterpret_cast<std::int16_t*>(y));
    const hn::Rebind<std::uint8_t, decltype(d_)> du8;
    hn::StoreU(hn::DemoteTo(du8, where), du8, index);
    return true;
  }

 private:
  static constexpr std::int16_t kInfinity = 0x7f80, kSign = std::numeric_limits<std::int16_t>::min();
  static constexpr hn::ScalableTag<std::int16_t> d_{};
  using V = hn::Vec<decltype(d_)>;
  static HWY_INLINE V load(const bfloat16* from) { return hn::LoadU(d_, reinterpret_cast<const std::int16_t*>(from)); }
  static HWY_INLINE V position(std::int64_t at) { return hn::Set(d_, static_cast<std::int16_t>(at)); }
  static HWY_INLINE V key_of(V bits) {
    const auto size = hn::And(bits, hn::Set(d_, 0x7fff));
    const auto key = hn::IfNegativeThenElse(bits, hn::Neg(size), size);
    return hn::IfThenElse(hn::Gt(size, hn::Set(d_, kInfinity)), hn::Set(d_, 0x7fff), key);
  }
  V best_, key_, where_;
};

#endif

// One element at a time, for images of fewer channels than a vector has lanes.
inline bool wins_over(float v, float best) { return !(v <= best) && best == best; }
inline std::int32_t order_of(bfloat16 v) {
  const std::int32_t size = v.bits & 0x7fff;
  return size > 0x7f80 ? 0x7fff : v.bits == size ? size : -size;
}
inline bool wins_over(bfloat16 v, bfloat16 best) { return order_of(v) > order_of(best); }

template <class T>
class OneMaximum {
 public:
  static constexpr std::int64_t kLanes = 1;
  OneMaximum(const T* first, std::int64_t here) : best_(*first), where_(here) {}
  void take(const T* from, std::int64_t here) {
    if (!wins_over(*from, best_)) return;
    best_ = *from;
    where_ = here;
  }
  void store(T* y, std::uint8_t* index) const {
    *y = best_;
    *index = static_cast<std::uint8_t>(where_);
  }

 private:
  T best_;
  std::int64_t where_;
};

// Windows of up to three by three pixels of bf16 have a faster path, which applies to most of them.
template <class Maximum, class T>
HWY_INLINE bool take_whole_window(std::int64_t side, const T* corner, std::int64_t row, std::int64_t pixel, T* y,
                                  std::uint8_t* index) {
  if constexpr (std::is_same_v<T, bfloat16> && Maximum::kLanes > 1) {
    if (side == 3) return Maximum::template take_window<3>(corner, row, pixel, y, index);
    if (side == 2) return Maximum::template take_window<2>(corner, row, pixel, y, index);
  }
  return false;
}

// Output rows [begin, end) of the N*OH rows.
template <class Maximum, class T>
void max_pool_rows(const PoolGeometry& p, const PoolRows& lie, const T* HWY_RESTRICT x, T* HWY_RESTRICT y,
                   std::uint8_t* HWY_RESTRICT index, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  const std::int64_t pixel = lie.x_pixel, channels = lie.channels;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* image = x + (row / p.oh * p.h - lie.first_row) * p.w * pixel;
    const Taps rows(row % p.oh, p.sh, p.top, p.kh, p.h);
    bool plain = true;  // as far as this row has shown
    for (std::int64_t ow = 0; ow < p.ow; ++ow) {
      const Taps columns(ow, p.sw, p.left, p.kw, p.w);
      const T* const corner = image + (rows.origin * p.w + columns.origin) * pixel;
      const std::int64_t out = (row * p.ow + ow) * lie.y_pixel;
      const T* const first = corner + (rows.first * p.w + columns.first) * pixel;
      for (std::int64_t r = 0; r < p.sh; ++r) {  // of the rows that only the next windows reach
        const T* const soon = image + ((rows.origin + p.kh + r) * p.w + ow * p.sw) * pixel;
        for (std::int64_t at = 0; at < p.sw * pixel; at += kLine) hwy::Prefetch(soon + at);
      }
      const bool whole = plain && p.kh == p.kw && rows.count() == p.kh && columns.count() == p.kw;
      for_two_vectors(channels, Maximum::kLanes, [&](auto count, std::int64_t c) HWY_ATTR {
        if (whole) {
          bool taken = take_whole_window<Maximum>(p.kh, corner + c, p.w * pixel, pixel, y + out + c, index + out + c);
          if constexpr (count == 2) {
            const std::int64_t at = c + Maximum::kLanes;
            taken = take_whole_window<Maximum>(p.kh, corner + at, p.w * pixel, pixel, y + out + at, index + out + at) &&
                    taken;
          }
          if (taken) return;
          plain = false;
        }
        Maximum low(first + c, rows.first * p.kw + columns.first);
        Maximum high = low;
        if constexpr (count == 2) high = Maximum(first + c + Maximum::kLanes, rows.first * p.kw + columns.first);
        for (std::int64_t r = rows.first; r < rows.last; ++r) {
          const T* at = corner + (r * p.w + columns.first) * pixel + c;
          for (std::int64_t s = columns.first; s < columns.last; ++s, at += pixel) {
            low.take(at, r * p.kw + s);
            if constexpr (count == 2) high.take(at + Maximum::kLanes, r * p.kw + s);
          }
        }
        low.store(y + out + c, index + out + c);
        if constexpr (count == 2) high.store(y + out + c + Maximum::kLanes, index + out + c + Maximum::kLanes);
      });
    }
  }
}

#if HWY_TARGET != HWY_SCALAR
// What a vector of an image's elements gathers from the windows that chose it, in f32.
class WideSum {
 public:
  static constexpr std::int64_t kLanes = HWY_LANES(float);
  HWY_INLINE WideSum() : sum_(hn::Zero(d_)) {}
  HWY_INLINE void add(const float* dy, const std::uint8_t* index, std::int64_t wanted) {
    const hn::RebindToSigned<decltype(d_)> di;
    const hn::Rebind<std::uint8_t, decltype(d_)> du8;
    const auto where = hn::PromoteTo(di, hn::LoadU(du8, index));
    const auto here = hn::RebindMask(d_, hn::Eq(where, hn::Set(di, static_cast<std::int32_t>(wanted))));
    sum_ = hn::Add(sum_, hn::IfThenElseZero(here, hn::LoadU(d_, dy)));
  }
  template <bool kStreamed, bool>
  HWY_INLINE void store(float* to) const {
    if constexpr (kStreamed) {
      hn::Stream(sum_, d_, to);
    } else {
      hn::StoreU(sum_, d_, to);
    }
  }

 private:
  static constexpr hn::ScalableTag<float> d_{};
  hn::Vec<decltype(d_)> sum_;
};

// The same of bf16, twice as many lanes: those of even and of odd numbers are the halves of f32 lanes.
class NarrowSum {
 public:
  static constexpr std::int64_t kLanes = HWY_LANES(std::uint16_t);
  HWY_INLINE NarrowSum() : even_(hn::Zero(df_)), odd_(hn::Zero(df_)) {}
  HWY_INLINE void add(const bfloat16* dy, const std::uint8_t* index, std::int64_t wanted) {
    const hn::Rebind<std::uint8_t, decltype(d_)> du8;
    const auto where = hn::PromoteTo(d_, hn::LoadU(du8, index));
    const auto here = hn::Eq(where, hn::Set(d_, static_cast<std::uint16_t>(wanted)));
    const auto values = hn::LoadU(d_, reinterpret_cast<const std::uint16_t*>(dy));
    const auto pairs = hn::BitCast(du32_, hn::IfThenElseZero(here, values));
    even_ = hn::Add(even_, hn::BitCast(df_, hn::ShiftLeft<16>(pairs)));
    odd_ = hn::Add(odd_, hn::BitCast(df_, hn::And(pairs, hn::Set(du32_, 0xffff0000u))));
  }
  // `exact`: sums of one value, of which nothing is rounded.
  template <bool kStreamed, bool kExact>
  HWY_INLINE void store(bfloat16* to) const {
    const auto both = hn::BitCast(d_, kExact ? hn::Or(hn::BitCast(du32_, odd_), upper(even_)) : rounded());
    if constexpr (kStreamed) {
      hn::Stream(both, d_, reinterpret_cast<std::uint16_t*>(to));
    } else {
      hn::StoreU(both, d_, reinterpret_cast<std::uint16_t*>(to));
    }
  }

 private:
  static constexpr hn::ScalableTag<std::uint16_t> d_{};
  static constexpr hn::ScalableTag<float> df_{};
  static constexpr hn::ScalableTag<std::uint32_t> du32_{};
  using Halves = hn::Vec<decltype(du32_)>;
  static HWY_INLINE Halves upper(hn::Vec<decltype(df_)> sum) { return hn::ShiftRight<16>(hn::BitCast(du32_, sum)); }
  // As rounded_halves; NaN, of which there seldom is one, apart.
  HWY_INLINE Halves rounded() const {
    const auto high = hn::Set(du32_, 0xffff0000u);
    if (HWY_UNLIKELY(!hn::AllTrue(df_, hn::And(hn::Eq(even_, even_), hn::Eq(odd_, odd_))))) {
      return hn::Or(hn::ShiftLeft<16>(rounded_halves(df_, odd_)), rounded_halves(df_, even_));
    }
    const auto up = [&](hn::Vec<decltype(df_)> sum) HWY_ATTR {
      const auto bits = hn::BitCast(du32_, sum);
      const auto odd = hn::And(upper(sum), hn::Set(du32_, 1u));
      return hn::Add(hn::Add(bits, hn::Set(du32_, 0x7fffu)), odd);
    };
    return hn::OrAnd(hn::ShiftRight<16>(up(even_)), up(odd_), high);
  }
  hn::Vec<decltype(df_)> even_, odd_;
};

#endif

// One element, where there are fewer channels than lanes.
template <class T>
class OneSum {
 public:
  static constexpr std::int64_t kLanes = 1;
  void add(const T* dy, const std::uint8_t* index, std::int64_t wanted) {
    if constexpr (std::is_same_v<T, float>) {
      sum_ += *index == wanted ? *dy : 0.0f;
    } else {
      sum_ += *index == wanted ? to_float(*dy) : 0.0f;
    }
  }
  template <bool kStreamed, bool>
  void store(T* to) const {
    if constexpr (std::is_same_v<T, float>) {
      *to = sum_;
    } else {
      *to = to_bfloat16(sum_);
    }
  }

 private:
  float sum_ = 0;
};

// The windows that cover a pixel: so many rows and columns of them, the first at `first` of dy and index; `tap` is the
// pixel's position in that one.
struct CoveringWindows {
  std::int64_t rows, columns, first, tap;
  std::int64_t row, row_taps;        // from one row of windows to the next
  std::int64_t column, column_taps;  // from one column to the next
};

// Constant numbers of windows (0: not constant) let the compiler unroll the additions: with loops they took 1.5 times
// as long.
template <class Sum, bool kStreamed, int kRows, int kColumns, class T>
HWY_INLINE void gather_pixel(const CoveringWindows& w, std::int64_t channels, const T* HWY_RESTRICT dy,
                             const std::uint8_t* HWY_RESTRICT index, T* HWY_RESTRICT to) {
  const std::int64_t rows = kRows > 0 ? kRows : w.rows, columns = kColumns > 0 ? kColumns : w.columns;
  for_two_vectors(channels, Sum::kLanes, [&](auto count, std::int64_t c) HWY_ATTR {
    Sum low, high;
    HWY_UNROLL(2)
    for (std::int64_t i = 0; i < rows; ++i) {
      HWY_UNROLL(2)
      for (std::int64_t j = 0; j < columns; ++j) {
        const std::int64_t at = w.first + i * w.row + j * w.column + c;
        const std::int64_t tap = w.tap - i * w.row_taps - j * w.column_taps;
        low.add(dy + at, index + at, tap);
        if constexpr (count == 2) high.add(dy + at + Sum::kLanes, index + at + Sum::kLanes, tap);
      }
    }
    constexpr bool kExact = kRows * kColumns == 1;
    low.template store<kStreamed, kExact>(to + c);
    if constexpr (count == 2) high.template store<kStreamed, kExact>(to + c + Sum::kLanes);
  });
}

// Input rows [begin, end) of the N*H rows: every input gathers from the windows that cover it, `columns` by its place
// in a row.
template <class Sum, bool kStreamed, class T>
void max_pool_bwd_rows(const PoolGeometry& p, const Covering* columns, const T* HWY_RESTRICT dy,
                       const std::uint8_t* HWY_RESTRICT index, T* HWY_RESTRICT dx, std::int64_t begin,
                       std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t ih = row % p.h;
    const Covering rows(ih, p.sh, p.top, p.kh, p.oh);
    const std::int64_t first = (row / p.h * p.oh + rows.first) * p.ow;
    const std::int64_t tap = (ih + p.top - rows.first * p.sh) * p.kw + p.left;
    for (std::int64_t iw = 0; iw < p.w; ++iw) {
      const auto& [left, right] = columns[iw];
      const CoveringWindows w{rows.last - rows.first,
                              right - left,
                              (first + left) * p.c,
                              tap + iw - left * p.sw,
                              p.ow * p.c,
                              p.sh * p.kw,
                              p.c,
                              p.sw};
      T* const to = dx + (row * p.w + iw) * p.c;
      const auto gather = [&](auto some_rows, auto some_columns) HWY_ATTR {
        gather_pixel<Sum, kStreamed, some_rows, some_columns>(w, p.c, dy, index, to);
      };
      constexpr std::integral_constant<int, 0> any;
      constexpr std::integral_constant<int, 1> one;
      constexpr std::integral_constant<int, 2> two;
      if (w.rows == 1 && w.columns == 1) {
        gather(one, one);
      } else if (w.rows == 1 && w.columns == 2) {
        gather(one, two);
      } else if (w.rows == 2 && w.columns == 1) {
        gather(two, one);
      } else if (w.rows == 2 && w.columns == 2) {
        gather(two, two);
      } else {
        gather(any, any);
      }
    }
  }
  if constexpr (kStreamed) hwy::FlushStream();
}

#if HWY_TARGET == HWY_SCALAR
using WideMaximum = OneMaximum<float>;
using NarrowMaximum = OneMaximum<bfloat16>;
using WideSum = OneSum<float>;
using NarrowSum = OneSum<bfloat16>;
#endif

template <class Maximum, class T>
void max_pool_part(const PoolGeometry& p, const PoolRows& rows, const T* x, T* y, std::uint8_t* index,
                   std::int64_t begin, std::int64_t end) {
  if (rows.channels < Maximum::kLanes) return max_pool_rows<OneMaximum<T>>(p, rows, x, y, index, begin, end);
  max_pool_rows<Maximum>(p, rows, x, y, index, begin, end);
}

template <class Sum, class T>
void max_pool_bwd_part(const PoolGeometry& p, const Covering* columns, const T* dy, const std::uint8_t* index, T* dx,
                       bool past_caches, std::int64_t begin, std::int64_t end) {
  const bool aligned = p.c % Sum::kLanes == 0 && reinterpret_cast<std::uintptr_t>(dx) % (Sum::kLanes * sizeof(T)) == 0;
  if (p.c < Sum::kLanes) {
    max_pool_bwd_rows<OneSum<T>, false>(p, columns, dy, index, dx, begin, end);
  } else if (past_caches && aligned) {
    max_pool_bwd_rows<Sum, true>(p, columns, dy, index, dx, begin, end);
  } else {
    max_pool_bwd_rows<Sum, false>(p, columns, dy, index, dx, begin, end);
  }
}

void max_pool_f32(const PoolGeometry& p, const PoolRows& rows, const float* x, float* y, std::uint8_t* index,
                  std::int64_t begin, std::int64_t end) {
  max_pool_part<WideMaximum>(p, rows, x, y, index, begin, end);
}
void max_pool_bf16(const PoolGeometry& p, const PoolRows& rows, const bfloat16* x, bfloat16* y, std::uint8_t* index,
                   std::int64_t begin, std::int64_t end) {
  max_pool_part<NarrowMaximum>(p, rows, x, y, index, begin, end);
}
void max_pool_bwd_f32(const PoolGeometry& p, const Covering* columns, const float* dy, const std::uint8_t* index,
                      float* dx, bool past_caches, std::int64_t begin, std::int64_t end) {
  max_pool_bwd_part<WideSum>(p, columns, dy, index, dx, past_caches, begin, end);
}
void max_pool_bwd_bf16(const PoolGeometry& p, const Covering* columns, const bfloat16* dy, const std::uint8_t* index,
                       bfloat16* dx, bool past_caches, std::int64_t begin, std::int64_t end) {
  max_pool_bwd_part<NarrowSum>(p, columns, dy, index, dx, past_caches, begin, end);
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {

HWY_EXPORT(max_pool_f32);
HWY_EXPORT(max_pool_bf16);
HWY_EXPORT(max_pool_bwd_f32);
HWY_EXPORT(max_pool_bwd_bf16);

void max_pool_rows(const PoolGeometry& geometry, const PoolRows& rows, const float* x, float* y, std::uint8_t* index,
                   std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(max_pool_f32)(geometry, rows, x, y, index, begin, end);
}
void max_pool_rows(const PoolGeometry& geometry, const PoolRows& rows, const bfloat16* x, bfloat16* y,
                   std::uint8_t* index, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(max_pool_bf16)(geometry, rows, x, y, index, begin, end);
}

KernelChoice make_own_max_pool(const KernelRequest& request) {
  const PoolGeometry p =
      PoolGeometry::of(request.node.attributes, request.inputs[0].type.shape, request.outputs[0].type.shape);
  if (p.pad_reaches_kernel()) return Refusal{"padding as wide as the kernel: a window may hold no element"};
  if (p.kh * p.kw > 255) return Refusal{"more than 255 positions in a window do not fit the u8 index"};
  const bool narrow = request.inputs[0].type.dtype == DType::bf16;
  return make_body_kernel(own_name("max_pool"), [p, narrow](const KernelArguments& a) {
    parallel_for(p.n * p.oh, 1, [&](std::int64_t begin, std::int64_t end) {
      const PoolRows whole{.channels = p.c, .x_pixel = p.c, .y_pixel = p.c};
      auto* const index = output<std::uint8_t>(a, 1);
      if (narrow) {
        max_pool_rows(p, whole, input<bfloat16>(a, 0), output<bfloat16>(a, 0), index, begin, end);
      } else {
        max_pool_rows(p, whole, input<float>(a, 0), output<float>(a, 0), index, begin, end);
      }
    });
  });
}

KernelChoice make_own_max_pool_bwd(const KernelRequest& request) {
  constexpr std::int64_t kItems = 64;         // so that no thread waits long for another
  constexpr std::size_t kStreamed = 4 << 20;  // bytes of a result of which caches keep nothing until it is read
  const PoolGeometry p =
      PoolGeometry::of(request.node.attributes, request.outputs[0].type.shape, request.inputs[0].type.shape);
  const bool narrow = request.inputs[0].type.dtype == DType::bf16;
  const bool past_caches = request.outputs[0].type.bytes() >= kStreamed;
  const std::int64_t bands =
      std::clamp<std::int64_t>(kItems / std::max<std::int64_t>(p.n, 1), 1, std::max<std::int64_t>(p.h, 1));
  return make_body_kernel(own_name("max_pool_bwd"), [=, columns = covering_columns(p)](const KernelArguments& a) {
    const auto* const index = input<std::uint8_t>(a, 1);
    for_each_item(p.n * bands, [&](std::int64_t item, int) {
      const std::int64_t image = item / bands, band = item % bands;
      const std::int64_t begin = image * p.h + p.h * band / bands, end = image * p.h + p.h * (band + 1) / bands;
      if (begin == end) return;
      // The rows of windows that overlap the band: each is in some band.
      const Covering top(begin % p.h, p.sh, p.top, p.kh, p.oh), bottom((end - 1) % p.h, p.sh, p.top, p.kh, p.oh);
      check_pool_index(p, index, image * p.oh + top.first, image * p.oh + bottom.last);
      if (narrow) {
        HWY_DYNAMIC_DISPATCH(max_pool_bwd_bf16)
        (p, columns.data(), input<bfloat16>(a, 0), index, output<bfloat16>(a, 0), past_caches, begin, end);
      } else {
        HWY_DYNAMIC_DISPATCH(max_pool_bwd_f32)
        (p, columns.data(), input<float>(a, 0), index, output<float>(a, 0), past_caches, begin, end);
      }
    });
  });
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
