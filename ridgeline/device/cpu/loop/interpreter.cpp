#include "ridgeline/device/cpu/loop/interpreter.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "ridgeline/core/dtype.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"
#include "ridgeline/core/random.h"
#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/graph/loop/float_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ridgeline/device/cpu/loop/interpreter.cpp"
#include "ridgeline/device/cpu/simd_targets.h"

#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ridgeline/device/cpu/loop/primitives-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
BlockFunction choose(LoopOp, unsigned) { return nullptr; }
#else
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;

constexpr std::size_t kLineFloats = 16;  // of a cache line

// An argument: a run of elements, or one value in all lanes.
template <bool kScalar>
struct Source {
  const float* at;
  V value;
  HWY_INLINE explicit Source(const float* p) : at(p), value(hn::Zero(D())) {
    if constexpr (kScalar) value = hn::Set(D(), *p);
  }
  HWY_INLINE V load(std::size_t i) const {
    if constexpr (kScalar)
      return value;
    else
      return hn::LoadU(D(), at + i);
  }
  HWY_INLINE V load_first(M lanes, std::size_t i) const {
    if constexpr (kScalar)
      return value;
    else
      return hn::MaskedLoad(lanes, D(), at + i);
  }
};

// Stores result(i) for every vector at element i, four at a time: meanwhile the next block's data are prefetched.
// Returns the first element after the last full vector.
template <class Result>
HWY_INLINE std::size_t for_vectors(const BlockArguments& x, const Result& result) {
  const D d;
  float* to = static_cast<float*>(x.to);
  const std::size_t lanes = hn::Lanes(d);
  const float* ahead = x.ahead;
  std::size_t i = 0;
  for (; i + 4 * lanes <= x.count; i += 4 * lanes) {
    const V v0 = result(i);
    const V v1 = result(i + lanes);
    const V v2 = result(i + 2 * lanes);
    const V v3 = result(i + 3 * lanes);
    hn::StoreU(v0, d, to + i);
    hn::StoreU(v1, d, to + i + lanes);
    hn::StoreU(v2, d, to + i + 2 * lanes);
    hn::StoreU(v3, d, to + i + 3 * lanes);
    for (int line = 0; line < x.ahead_lines; ++line, ahead += kLineFloats) hwy::Prefetch(ahead);
  }
  for (; i + lanes <= x.count; i += lanes) hn::StoreU(result(i), d, to + i);
  return i;
}

template <class F, unsigned kScalars>
void map1(const BlockArguments& x) {
  const D d;
  const F f;
  const Source<(kScalars & 1) != 0> a(x.a);
  float* to = static_cast<float*>(x.to);
  const std::size_t i = for_vectors(x, [&](std::size_t at) HWY_ATTR { return f(a.load(at)); });
  if (i == x.count) return;
  const M rest = hn::FirstN(d, x.count - i);
  hn::BlendedStore(f(a.load_first(rest, i)), rest, d, to + i);
}

template <class F, unsigned kScalars>
void map2(const BlockArguments& x) {
  const D d;
  const F f;
  const Source<(kScalars & 1) != 0> a(x.a);
  const Source<(kScalars & 2) != 0> b(x.b);
  float* to = static_cast<float*>(x.to);
  const std::size_t i = for_vectors(x, [&](std::size_t at) HWY_ATTR { return f(a.load(at), b.load(at)); });
  if (i == x.count) return;
  const M rest = hn::FirstN(d, x.count - i);
  hn::BlendedStore(f(a.load_first(rest, i), b.load_first(rest, i)), rest, d, to + i);
}

template <class F, unsigned kScalars>
void map3(const BlockArguments& x) {
  const D d;
  const F f;
  const Source<(kScalars & 1) != 0> a(x.a);
  const Source<(kScalars & 2) != 0> b(x.b);
  const Source<(kScalars & 4) != 0> c(x.c);
  float* to = static_cast<float*>(x.to);
  const std::size_t i = for_vectors(x, [&](std::size_t at) HWY_ATTR { return f(a.load(at), b.load(at), c.load(at)); });
  if (i == x.count) return;
  const M rest = hn::FirstN(d, x.count - i);
  hn::BlendedStore(f(a.load_first(rest, i), b.load_first(rest, i), c.load_first(rest, i)), rest, d, to + i);
}

// a * b + (c * d + e) with scalars b and d; five arguments, hence apart.
void two_mul_add(const BlockArguments& x) {
  const D d;
  const Source<true> b(x.b);
  const Source<true> s(x.d);
  float* to = static_cast<float*>(x.to);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= x.count; i += lanes) {
    const auto inner = hn::Add(hn::Mul(hn::LoadU(d, x.c + i), s.value), hn::LoadU(d, x.e + i));
    hn::StoreU(hn::Add(hn::Mul(hn::LoadU(d, x.a + i), b.value), inner), d, to + i);
  }
  if (i == x.count) return;
  const M rest = hn::FirstN(d, x.count - i);
  const auto first = [&](const float* p) HWY_ATTR { return hn::MaskedLoad(rest, d, p + i); };
  const auto inner = hn::Add(hn::Mul(first(x.c), s.value), first(x.e));
  hn::BlendedStore(hn::Add(hn::Mul(first(x.a), b.value), inner), rest, d, to + i);
}

// Conversions of elements of type T, full vectors by the functor and the last elements by the scalar rule.
template <class F, class T, class Scalar>
void load_as(const BlockArguments& x, const Scalar& scalar) {
  const T* from = static_cast<const T*>(x.source) + x.first;
  float* to = static_cast<float*>(x.to);
  const std::size_t lanes = hn::Lanes(D());
  std::size_t i = 0;
  for (; i + lanes <= x.count; i += lanes) hn::StoreU(F()(from, i), D(), to + i);
  for (; i < x.count; ++i) to[i] = scalar(from[i]);
}

void load_u8(const BlockArguments& x) {
  load_as<LoadU8, std::uint8_t>(x, [](std::uint8_t v) { return static_cast<float>(v); });
}
void load_i32(const BlockArguments& x) {
  load_as<LoadI32, std::int32_t>(x, [](std::int32_t v) { return static_cast<float>(v); });
}
void load_bf16(const BlockArguments& x) {
  load_as<LoadBf16, bfloat16>(x, [](bfloat16 v) { return to_float(v); });
}
void load_f16(const BlockArguments& x) {
  load_as<LoadF16, float16>(x, [](float16 v) { return to_float(v); });
}

template <class F, class T, unsigned kScalars, class Scalar>
void store_as(const BlockArguments& x, const Scalar& scalar) {
  T* to = static_cast<T*>(x.to) + x.first;
  if (kScalars != 0) {
    std::fill_n(to, x.count, scalar(*x.a));
    return;
  }
  const std::size_t lanes = hn::Lanes(D());
  std::size_t i = 0;
  for (; i + lanes <= x.count; i += lanes) F()(hn::LoadU(D(), x.a + i), to, i);
  for (; i < x.count; ++i) to[i] = scalar(x.a[i]);
}

template <unsigned kScalars>
void store_bf16(const BlockArguments& x) {
  store_as<StoreBf16, bfloat16, kScalars>(x, [](float v) { return to_bfloat16(v); });
}
template <unsigned kScalars>
void store_f16(const BlockArguments& x) {
  store_as<StoreF16, float16, kScalars>(x, [](float v) { return to_float16(v); });
}
template <unsigned kScalars>
void store_bool(const BlockArguments& x) {
  store_as<StoreBool, std::uint8_t, kScalars>(x, [](float v) { return static_cast<std::uint8_t>(v != 0 ? 1 : 0); });
}

void uniform(const BlockArguments& x) {
  const D d;
  const hn::RebindToSigned<D> di;
  const std::size_t lanes = hn::Lanes(d);
  float* to = static_cast<float*>(x.to);
  HWY_ALIGN float tail[4 * HWY_LANES(float)];
  const auto scale = hn::Set(d, 0x1p-24f);
  const PhiloxLanes philox({static_cast<std::uint32_t>(x.key), static_cast<std::uint32_t>(x.key >> 32)});
  for (std::size_t i = 0; i < x.count; i += 4 * lanes) {
    const bool whole = i + 4 * lanes <= x.count;
    float* place = whole ? to + i : tail;
    philox.draw(static_cast<std::uint64_t>(x.first) / 4 + i / 4, static_cast<std::uint64_t>(x.step),
                [&](std::size_t k, Words words) HWY_ATTR {
                  const auto bits = hn::BitCast(di, hn::ShiftRight<8>(words));
                  hn::StoreU(hn::Mul(hn::ConvertTo(d, bits), scale), d, place + k * lanes);
                });
    if (!whole) std::memcpy(to + i, tail, (x.count - i) * sizeof(float));
  }
}

// Sixteen running sums in double whatever the vector's width, then a fixed tree: the same bits on every machine.
template <unsigned kScalars>
void sum(const BlockArguments& x) {
  if (kScalars != 0) {
    *x.sum = static_cast<double>(*x.a) * static_cast<double>(x.count);
    return;
  }
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> half;
  constexpr std::size_t kSums = 16;
  constexpr std::size_t kVectors = kSums / HWY_LANES(double);
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN double sums[kSums] = {};
  HWY_ALIGN float rest[kSums] = {};
  const std::size_t whole = x.count / kSums * kSums;
  std::memcpy(rest, x.a + whole, (x.count - whole) * sizeof(float));
  if constexpr (kVectors == 2) {
    auto s0 = hn::Zero(d), s1 = s0;
    const auto add = [&](const float* p) HWY_ATTR {
      s0 = hn::Add(s0, hn::PromoteTo(d, hn::LoadU(half, p)));
      s1 = hn::Add(s1, hn::PromoteTo(d, hn::LoadU(half, p + lanes)));
    };
    for (std::size_t i = 0; i < whole; i += kSums) add(x.a + i);
    add(rest);
    hn::Store(s0, d, sums);
    hn::Store(s1, d, sums + lanes);
  } else {
    for (std::size_t v = 0; v < kSums; v += 4 * lanes) {
      auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
      const auto add = [&](const float* p) HWY_ATTR {
        s0 = hn::Add(s0, hn::PromoteTo(d, hn::LoadU(half, p + v)));
        s1 = hn::Add(s1, hn::PromoteTo(d, hn::LoadU(half, p + v + lanes)));
        s2 = hn::Add(s2, hn::PromoteTo(d, hn::LoadU(half, p + v + 2 * lanes)));
        s3 = hn::Add(s3, hn::PromoteTo(d, hn::LoadU(half, p + v + 3 * lanes)));
      };
      for (std::size_t i = 0; i < whole; i += kSums) add(x.a + i);
      add(rest);
      hn::Store(s0, d, sums + v);
      hn::Store(s1, d, sums + v + lanes);
      hn::Store(s2, d, sums + v + 2 * lanes);
      hn::Store(s3, d, sums + v + 3 * lanes);
    }
  }
  for (std::size_t width = kSums / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  *x.sum = sums[0];
}

template <class F>
BlockFunction choose2(unsigned scalars) {
  switch (scalars) {
    case 0: return map2<F, 0>;
    case 1: return map2<F, 1>;
    case 2: return map2<F, 2>;
    default: return nullptr;
  }
}

template <class F>
BlockFunction choose3(unsigned scalars) {
  switch (scalars) {
    case 0: return map3<F, 0>;
    case 1: return map3<F, 1>;
    case 2: return map3<F, 2>;
    case 3: return map3<F, 3>;
    case 4: return map3<F, 4>;
    case 5: return map3<F, 5>;
    case 6: return map3<F, 6>;
    default: return nullptr;
  }
}

BlockFunction choose(LoopOp op, unsigned scalars) {
  switch (op) {
    case LoopOp::load_u8: return load_u8;
    case LoopOp::load_i32: return load_i32;
    case LoopOp::load_bf16: return load_bf16;
    case LoopOp::load_f16: return load_f16;
    case LoopOp::round_bf16: return map1<RoundBf16, 0>;
    case LoopOp::round_f16: return map1<RoundF16, 0>;
    case LoopOp::copy: return scalars != 0 ? map1<Copy, 1> : map1<Copy, 0>;
    case LoopOp::neg: return map1<Neg, 0>;
    case LoopOp::abs: return map1<Abs, 0>;
    case LoopOp::exp: return map1<Exp, 0>;
    case LoopOp::log: return map1<Log, 0>;
    case LoopOp::sqrt: return map1<Sqrt, 0>;
    case LoopOp::floor: return map1<Floor, 0>;
    case LoopOp::add: return choose2<Add>(scalars);
    case LoopOp::sub: return choose2<Sub>(scalars);
    case LoopOp::mul: return choose2<Mul>(scalars);
    case LoopOp::div: return choose2<Div>(scalars);
    case LoopOp::max: return choose2<Max>(scalars);
    case LoopOp::min: return choose2<Min>(scalars);
    case LoopOp::less: return choose2<Less>(scalars);
    case LoopOp::less_equal: return choose2<LessEqual>(scalars);
    case LoopOp::equal: return choose2<Equal>(scalars);
    case LoopOp::select: return choose3<Select>(scalars);
    case LoopOp::mul_add: return choose3<MulThenAdd>(scalars);
    case LoopOp::mul_sub: return choose3<MulThenSub>(scalars);
    case LoopOp::sub_mul: return choose3<SubProduct>(scalars);
    case LoopOp::two_mul_add: return two_mul_add;
    case LoopOp::uniform: return uniform;
    case LoopOp::store_bf16: return scalars != 0 ? store_bf16<1> : store_bf16<0>;
    case LoopOp::store_f16: return scalars != 0 ? store_f16<1> : store_f16<0>;
    case LoopOp::store_bool: return scalars != 0 ? store_bool<1> : store_bool<0>;
    case LoopOp::sum: return scalars != 0 ? sum<1> : sum<0>;
    default: return nullptr;
  }
}

#endif  // a vector target
}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ridgeline::device {
namespace {

void load_periodic(const BlockArguments& x) {
  const auto period = static_cast<std::size_t>(x.operand->period);
  const auto* from = static_cast<const float*>(x.source);
  float* to = static_cast<float*>(x.to);
  std::size_t at = static_cast<std::size_t>(x.first) % period;
  for (std::size_t i = 0; i < x.count;) {
    const std::size_t run = std::min(period - at, x.count - i);
    std::memcpy(to + i, from + at, run * sizeof(float));
    i += run;
    at = 0;
  }
}

template <class T>
float widened(T x) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<float>(x);
  else
    return to_float(x);
}

template <class T>
void gather(const BlockArguments& x) {
  const LoopOperand& o = *x.operand;
  const auto* from = static_cast<const T*>(x.source);
  float* to = static_cast<float*>(x.to);
  for (std::size_t i = 0; i < x.count;) {
    // One row of the innermost axis at a time.
    std::int64_t rest = x.first + static_cast<std::int64_t>(i);
    std::int64_t offset = 0;
    const std::size_t inner = o.dims.size() - 1;
    const std::int64_t begin = rest % o.dims[inner];
    rest /= o.dims[inner];
    for (std::size_t axis = inner; axis-- > 0;) {
      offset += rest % o.dims[axis] * o.strides[axis];
      rest /= o.dims[axis];
    }
    const std::int64_t end = std::min(o.dims[inner], begin + static_cast<std::int64_t>(x.count - i));
    for (std::int64_t k = begin; k < end; ++k) to[i++] = widened(from[offset + k * o.strides[inner]]);
  }
}

void load_strided(const BlockArguments& x) {
  switch (x.operand->dtype) {
    case DType::f32: return gather<float>(x);
    case DType::i32: return gather<std::int32_t>(x);
    case DType::bf16: return gather<bfloat16>(x);
    case DType::f16: return gather<float16>(x);
    default: return gather<std::uint8_t>(x);  // u8 and bool
  }
}

// Only schedules use these: the f64 rule, element by element.
void cosine(const BlockArguments& x) {
  for (std::size_t i = 0; i < x.count; ++i) static_cast<float*>(x.to)[i] = static_cast<float>(portable_cos(x.a[i]));
}
void sine(const BlockArguments& x) {
  for (std::size_t i = 0; i < x.count; ++i) static_cast<float*>(x.to)[i] = static_cast<float>(portable_sin(x.a[i]));
}

HWY_EXPORT(choose);

}  // namespace

BlockFunction block_function(LoopOp op, unsigned scalars) {
  if (op == LoopOp::load_periodic) return load_periodic;
  if (op == LoopOp::load_strided) return load_strided;
  if (op == LoopOp::cos) return cosine;
  if (op == LoopOp::sin) return sine;
  active_isa();  // limits the dispatch at the first use
  const BlockFunction function = HWY_DYNAMIC_DISPATCH(choose)(op, scalars);
  RIDGELINE_CHECK(function != nullptr, "no block function for these arguments");
  return function;
}

}  // namespace ridgeline::device
#endif  // HWY_ONCE
