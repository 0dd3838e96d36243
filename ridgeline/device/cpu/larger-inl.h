// ridgeline/device/cpu/larger-inl.h
//
// The larger and the smaller of two floats as x86 defines them, on every processor: the second if they are equal (which
// decides the sign of zeros) or if one of them is NaN. Arm's own instruction prefers the number to a NaN, and +0 to -0.
// Included once for each vector target.
#if defined(RIDGELINE_DEVICE_CPU_LARGER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIDGELINE_DEVICE_CPU_LARGER_INL_H_
#undef RIDGELINE_DEVICE_CPU_LARGER_INL_H_
#else
#define RIDGELINE_DEVICE_CPU_LARGER_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ridgeline::device::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class V>
HWY_INLINE V larger(V x, V y) {
#if HWY_ARCH_X86
  return hn::Max(x, y);
#else
  return hn::IfThenElse(hn::Gt(x, y), x, y);
#endif
}

template <class V>
HWY_INLINE V smaller(V x, V y) {
#if HWY_ARCH_X86
  return hn::Min(x, y);
#else
  return hn::IfThenElse(hn::Lt(x, y), x, y);
#endif
}

}  // namespace ridgeline::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
