// ridgeline/device/cpu/storage-inl.h
//
// Loads and stores vectors of f32 from and to memory that holds f32 or bf16; storing as bf16 rounds as to_bfloat16().
// Included once for each vector target.
#if defined(RIDGELINE_DEVICE_CPU_STORAGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIDGELINE_DEVICE_CPU_STORAGE_INL_H_
#undef RIDGELINE_DEVICE_CPU_STORAGE_INL_H_
#else
#define RIDGELINE_DEVICE_CPU_STORAGE_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "ridgeline/core/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The upper half of each float rounded to nearest, ties to even; NaN becomes quiet: in the low half of each lane.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> rounded_halves(D, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, x);
  const auto high = hn::ShiftRight<16>(bits);
  const auto odd = hn::And(high, hn::Set(du, 1u));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd));
  const auto quiet = hn::Or(high, hn::Set(du, 0x40u));
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(x)), quiet, rounded);
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const bfloat16* from) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint16_t, D> halves;
  const auto bits = hn::LoadU(halves, reinterpret_cast<const std::uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
}

// v as after storing it as T and loading it.
template <class T, class D>
HWY_INLINE hn::Vec<D> as_stored(D d, hn::Vec<D> v) {
  if constexpr (std::is_same_v<T, float>) {
    return v;
  } else {
    return hn::BitCast(d, hn::ShiftLeft<16>(rounded_halves(d, v)));
  }
}

template <class D>
HWY_INLINE void store(hn::Vec<D> v, D d, float* to) {
  hn::StoreU(v, d, to);
}
template <class D>
HWY_INLINE void store(hn::Vec<D> v, D d, bfloat16* to) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint16_t, D> halves;
  const auto bits = hn::BitCast(di, rounded_halves(d, v));
  hn::StoreU(hn::DemoteTo(halves, bits), halves, reinterpret_cast<std::uint16_t*>(to));
}

#if HWY_TARGET != HWY_SCALAR
// Stores two consecutive vectors, bypassing the caches: `to` is aligned to a vector.
template <class D>
HWY_INLINE void stream_both(hn::Vec<D> first, hn::Vec<D> second, D d, bfloat16* to) {
  const hn::Repartition<std::uint16_t, D> halves;
  hn::Stream(hn::ConcatEven(halves, hn::BitCast(halves, rounded_halves(d, second)),
                            hn::BitCast(halves, rounded_halves(d, first))),
             halves, reinterpret_cast<std::uint16_t*>(to));
}
#endif

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
