// ridgeline/device/cpu/loop/primitives-inl.h
//
// The primitives of loops on vectors of f32, step by step those of graph/loop/evaluate.h and float_math.h. Included
// once for each vector target.
#if defined(RIDGELINE_LOOP_PRIMITIVES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef RIDGELINE_LOOP_PRIMITIVES_INL_H
#undef RIDGELINE_LOOP_PRIMITIVES_INL_H
#else
#define RIDGELINE_LOOP_PRIMITIVES_INL_H
#endif

#include <limits>

#include "hwy/highway.h"
#include "ridgeline/core/random.h"
#include "ridgeline/device/cpu/larger-inl.h"
#include "ridgeline/device/cpu/storage-inl.h"
#include "ridgeline/graph/loop/float_math.h"

// Highway's baseline (one lane, no wide products) is never dispatched to: on x86-64 device/cpu/isa.h demands
// AVX2.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using Floats = hn::Vec<FloatTag>;

HWY_INLINE Floats all_lanes(float value) { return hn::Set(FloatTag(), value); }

struct Copy {
  HWY_INLINE Floats operator()(Floats x) const { return x; }
};
struct Neg {
  HWY_INLINE Floats operator()(Floats x) const { return hn::Neg(x); }
};
struct Abs {
  HWY_INLINE Floats operator()(Floats x) const { return hn::Abs(x); }
};
struct Sqrt {
  HWY_INLINE Floats operator()(Floats x) const { return hn::Sqrt(x); }
};
struct Floor {
  HWY_INLINE Floats operator()(Floats x) const { return hn::Floor(x); }
};

using BitsTag = hn::RebindToUnsigned<FloatTag>;
using HalfBitsTag = hn::Rebind<std::uint16_t, FloatTag>;
using HalfTag = hn::Rebind<hwy::float16_t, FloatTag>;

// to_bfloat16() in the low half of each lane.
HWY_INLINE hn::Vec<BitsTag> bf16_bits(Floats x) { return rounded_halves(FloatTag(), x); }

// To f16: to_float16() lane by lane, by the processor's conversion, which keeps NaN's payload while ours has one NaN.
HWY_INLINE hn::Vec<HalfTag> to_halves(Floats x) {
  const FloatTag d;
  const auto nan = hn::BitCast(d, hn::Set(BitsTag(), 0x7fc00000u));
  return hn::DemoteTo(HalfTag(), hn::IfThenElse(hn::IsNaN(x), hn::CopySign(nan, x), x));
}

struct RoundBf16 {
  HWY_INLINE Floats operator()(Floats x) const { return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(bf16_bits(x))); }
};
struct RoundF16 {
  HWY_INLINE Floats operator()(Floats x) const { return hn::PromoteTo(FloatTag(), to_halves(x)); }
};

// Loads one vector from element i on, converting from the stored type.
struct LoadF32 {
  HWY_INLINE Floats operator()(const void* from, std::size_t i) const {
    return hn::LoadU(FloatTag(), static_cast<const float*>(from) + i);
  }
};
struct LoadU8 {
  HWY_INLINE Floats operator()(const void* from, std::size_t i) const {
    const hn::Rebind<std::uint8_t, FloatTag> d8;
    const auto bytes = hn::LoadU(d8, static_cast<const std::uint8_t*>(from) + i);
    return hn::ConvertTo(FloatTag(), hn::PromoteTo(hn::RebindToSigned<FloatTag>(), bytes));
  }
};
struct LoadI32 {
  HWY_INLINE Floats operator()(const void* from, std::size_t i) const {
    return hn::ConvertTo(FloatTag(),
                         hn::LoadU(hn::RebindToSigned<FloatTag>(), static_cast<const std::int32_t*>(from) + i));
  }
};
struct LoadBf16 {
  HWY_INLINE Floats operator()(const void* from, std::size_t i) const {
    const auto bits = hn::LoadU(HalfBitsTag(), static_cast<const std::uint16_t*>(from) + i);
    return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(BitsTag(), bits)));
  }
};
struct LoadF16 {
  HWY_INLINE Floats operator()(const void* from, std::size_t i) const {
    const auto bits = hn::LoadU(HalfBitsTag(), static_cast<const std::uint16_t*>(from) + i);
    return hn::PromoteTo(FloatTag(), hn::BitCast(HalfTag(), bits));
  }
};

// Stores a vector to the elements from i on, converting to the stored type.
struct StoreF32 {
  HWY_INLINE void operator()(Floats x, void* to, std::size_t i) const {
    hn::StoreU(x, FloatTag(), static_cast<float*>(to) + i);
  }
};
struct StoreBf16 {
  HWY_INLINE void operator()(Floats x, void* to, std::size_t i) const {
    const auto bits = hn::BitCast(hn::RebindToSigned<FloatTag>(), bf16_bits(x));
    hn::StoreU(hn::DemoteTo(HalfBitsTag(), bits), HalfBitsTag(), static_cast<std::uint16_t*>(to) + i);
  }
};
struct StoreF16 {
  HWY_INLINE void operator()(Floats x, void* to, std::size_t i) const {
    hn::StoreU(hn::BitCast(HalfBitsTag(), to_halves(x)), HalfBitsTag(), static_cast<std::uint16_t*>(to) + i);
  }
};
struct StoreBool {
  HWY_INLINE void operator()(Floats x, void* to, std::size_t i) const {
    const hn::RebindToSigned<FloatTag> di;
    // NaN counts as not zero, whatever the processor's "not equal" gives.
    const auto zero = hn::RebindMask(di, hn::Eq(x, hn::Zero(FloatTag())));
    const auto ones = hn::IfThenZeroElse(zero, hn::Set(di, 1));
    hn::StoreU(hn::DemoteTo(hn::Rebind<std::uint8_t, FloatTag>(), ones), hn::Rebind<std::uint8_t, FloatTag>(),
               static_cast<std::uint8_t*>(to) + i);
  }
};

struct Exp {
  HWY_INLINE Floats operator()(Floats x) const {
    using L = loop::ExpRule;
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    const auto n = hn::Round(hn::Mul(x, all_lanes(L::kLog2E)));
    auto r = hn::NegMulAdd(n, all_lanes(L::kLn2High), x);
    r = hn::NegMulAdd(n, all_lanes(L::kLn2Low), r);
    auto q = all_lanes(L::kCoefficients[0]);
    for (int i = 1; i < 6; ++i) q = hn::MulAdd(q, r, all_lanes(L::kCoefficients[i]));
    auto y = hn::Add(hn::MulAdd(q, hn::Mul(r, r), r), all_lanes(1.0f));
    const auto whole = hn::ConvertTo(di, n);
    const auto half = hn::ShiftRight<1>(whole);
    const auto bias = hn::Set(di, 127);
    const auto power = [&](auto e) HWY_ATTR { return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(e, bias))); };
    y = hn::Mul(hn::Mul(y, power(half)), power(hn::Sub(whole, half)));
    y = hn::IfThenElse(hn::Gt(x, all_lanes(L::kOverflow)), all_lanes(std::numeric_limits<float>::infinity()), y);
    y = hn::IfThenElse(hn::Lt(x, all_lanes(L::kUnderflow)), hn::Zero(d), y);
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  }
};

struct Log {
  HWY_INLINE Floats operator()(Floats x) const {
    using L = loop::LogRule;
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    auto bits = hn::Add(hn::BitCast(di, x), hn::Set(di, 0x3f800000 - L::kSqrtHalfBits));
    const auto k = hn::ConvertTo(d, hn::Sub(hn::ShiftRight<23>(bits), hn::Set(di, 127)));
    bits = hn::Add(hn::And(bits, hn::Set(di, 0x007fffff)), hn::Set(di, L::kSqrtHalfBits));
    const auto f = hn::Sub(hn::BitCast(d, bits), all_lanes(1.0f));
    const auto s = hn::Div(f, hn::Add(all_lanes(2.0f), f));
    const auto z = hn::Mul(s, s);
    const auto w = hn::Mul(z, z);
    const auto t1 = hn::Mul(w, hn::Add(all_lanes(L::k2), hn::Mul(w, all_lanes(L::k4))));
    const auto t2 = hn::Mul(z, hn::Add(all_lanes(L::k1), hn::Mul(w, all_lanes(L::k3))));
    const auto half = hn::Mul(hn::Mul(all_lanes(0.5f), f), f);
    const auto small = hn::Add(hn::Mul(s, hn::Add(half, hn::Add(t1, t2))), hn::Mul(k, all_lanes(L::kLn2Low)));
    auto y = hn::Add(hn::Add(hn::Sub(small, half), f), hn::Mul(k, all_lanes(L::kLn2High)));
    const float infinity = std::numeric_limits<float>::infinity();
    const auto smallest = all_lanes(L::kSmallest);
    y = hn::IfThenElse(hn::Eq(x, all_lanes(infinity)), x, y);
    y = hn::IfThenElse(hn::Lt(x, smallest), all_lanes(-infinity), y);
    const auto nan = all_lanes(std::numeric_limits<float>::quiet_NaN());
    return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Le(x, hn::Neg(smallest))), nan, y);
  }
};

struct Add {
  HWY_INLINE Floats operator()(Floats x, Floats y) const { return hn::Add(x, y); }
};
struct Sub {
  HWY_INLINE Floats operator()(Floats x, Floats y) const { return hn::Sub(x, y); }
};
struct Mul {
  HWY_INLINE Floats operator()(Floats x, Floats y) const { return hn::Mul(x, y); }
};
struct Div {
  HWY_INLINE Floats operator()(Floats x, Floats y) const { return hn::Div(x, y); }
};

// x if x > y or x is NaN, else y.
struct Max {
  HWY_INLINE Floats operator()(Floats x, Floats y) const { return hn::IfThenElse(hn::IsNaN(x), x, larger(x, y)); }
};
struct Min {
  HWY_INLINE Floats operator()(Floats x, Floats y) const { return hn::IfThenElse(hn::IsNaN(x), x, smaller(x, y)); }
};

struct Less {
  HWY_INLINE Floats operator()(Floats x, Floats y) const { return hn::IfThenElseZero(hn::Lt(x, y), all_lanes(1.0f)); }
};
struct LessEqual {
  HWY_INLINE Floats operator()(Floats x, Floats y) const { return hn::IfThenElseZero(hn::Le(x, y), all_lanes(1.0f)); }
};
struct Equal {
  HWY_INLINE Floats operator()(Floats x, Floats y) const { return hn::IfThenElseZero(hn::Eq(x, y), all_lanes(1.0f)); }
};

struct Select {
  HWY_INLINE Floats operator()(Floats c, Floats a, Floats b) const {
    return hn::IfThenElse(hn::Eq(c, hn::Zero(FloatTag())), b, a);
  }
};
// Two roundings each: the product is not fused into the sum.
struct MulThenAdd {
  HWY_INLINE Floats operator()(Floats a, Floats b, Floats c) const { return hn::Add(hn::Mul(a, b), c); }
};
struct MulThenSub {
  HWY_INLINE Floats operator()(Floats a, Floats b, Floats c) const { return hn::Sub(hn::Mul(a, b), c); }
};
struct SubProduct {
  HWY_INLINE Floats operator()(Floats a, Floats b, Floats c) const { return hn::Sub(c, hn::Mul(a, b)); }
};
struct TwoMulThenAdd {
  HWY_INLINE Floats operator()(Floats a, Floats b, Floats c, Floats d, Floats e) const {
    return hn::Add(hn::Mul(a, b), hn::Add(hn::Mul(c, d), e));
  }
};

using WordTag = hn::RebindToUnsigned<FloatTag>;
using Words = hn::Vec<WordTag>;

// Philox4x32-10 (core/random.h), many counters at a time.
class PhiloxLanes {
 public:
  explicit PhiloxLanes(PhiloxKey key) {
    for (int round = 0; round < kRounds; ++round) {
      k0_[round] = key.k0 + static_cast<std::uint32_t>(round) * 0x9E3779B9u;
      k1_[round] = key.k1 + static_cast<std::uint32_t>(round) * 0xBB67AE85u;
    }
  }

  // Calls take(i, words) for the four consecutive vectors of the words of counter `block` and the following ones.
  template <class Take>
  HWY_INLINE void draw(std::uint64_t block, std::uint64_t step, const Take& take) const {
    const Wide wide;
    constexpr std::size_t kCounters = HWY_LANES(std::uint64_t);
    // Odd lanes count from the middle on: after interleaving, their words come after the others'.
    const auto place =
        hn::Add(hn::ShiftRight<1>(hn::Iota(wide, 0)), hn::OddEven(hn::Set(wide, kCounters / 2), hn::Zero(wide)));
    const auto begin = [&](std::uint64_t first) HWY_ATTR {
      const auto c0 = hn::Add(hn::Set(wide, first), place);
      return Counters{c0, hn::ShiftRight<32>(c0), hn::Set(wide, step), hn::Set(wide, step >> 32)};
    };
    // Two of them, to hide the latency of multiplications.
    Counters a = begin(block), b = begin(block + kCounters);
    for (int round = 0; round < kRounds; ++round) {
      const auto k0 = hn::Set(wide, k0_[round]), k1 = hn::Set(wide, k1_[round]);
      a = next(a, k0, k1);
      b = next(b, k0, k1);
    }
    take(0, lower(a));
    take(1, upper(a));
    take(2, lower(b));
    take(3, upper(b));
  }

 private:
  using Wide = hn::RepartitionToWide<WordTag>;
  using Lanes = hn::Vec<Wide>;
  static constexpr int kRounds = 10;

  // Each word of a counter is the lower half of a 64-bit lane; the upper halves are ignored.
  struct Counters {
    Lanes w0, w1, w2, w3;
  };

  static HWY_INLINE Counters next(const Counters& c, Lanes k0, Lanes k1) {
    const WordTag d;
    const auto p0 = hn::MulEven(hn::BitCast(d, c.w0), hn::Set(d, 0xD2511F53u));
    const auto p1 = hn::MulEven(hn::BitCast(d, c.w2), hn::Set(d, 0xCD9E8D57u));
    return {hn::Xor3(hn::ShiftRight<32>(p1), c.w1, k0), p1, hn::Xor3(hn::ShiftRight<32>(p0), c.w3, k1), p0};
  }
  static HWY_INLINE Lanes pairs(Lanes low, Lanes high) {
    const WordTag d;
    return hn::BitCast(Wide(), hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(high)), hn::BitCast(d, low)));
  }
  static HWY_INLINE Words lower(const Counters& c) {
    return hn::BitCast(WordTag(), hn::InterleaveLower(Wide(), pairs(c.w0, c.w1), pairs(c.w2, c.w3)));
  }
  static HWY_INLINE Words upper(const Counters& c) {
    return hn::BitCast(WordTag(), hn::InterleaveUpper(Wide(), pairs(c.w0, c.w1), pairs(c.w2, c.w3)));
  }

  std::uint64_t k0_[kRounds], k1_[kRounds];
};

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // a vector target
#endif  // per-target include guard
