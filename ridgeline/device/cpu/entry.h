// ridgeline/device/cpu/entry.h
//
// How a family of CPU kernels writes its rows. Each folder has a `table.cpp` that declares the factories of its files
// and gives their entries as a span (families.h): a new kernel is a file and a row. Their speeds are in speeds.h.
#pragma once

#include "ridgeline/device/cpu/speeds.h"
#include "ridgeline/device/kernel.h"

namespace ridgeline::device {

// The signatures of KernelEntry::factory and KernelEntry::share.
using KernelFactory = KernelChoice(const KernelRequest& request);
using KernelShare = double(const KernelRequest& request);

inline constexpr DTypeSet kFloat{DType::f32};
inline constexpr DTypeSet kFloatOrHalf{DType::f32, DType::bf16};
inline constexpr DTypeSet kFloatOrHalves{DType::f32, DType::bf16, DType::f16};

// For sums whose order depends only on the shapes: one lane for each element, or sixteen virtual ones.
inline constexpr KernelPromise kSameEverywhere{Reproducibility::portable, true};
// For sums whose order also depends on the instruction set.
inline constexpr KernelPromise kSameForAnyTeam{Reproducibility::deterministic, true};

struct EntryOptions {
  DTypeSet storage = kFloat;
  KernelSpeed speed = {};
  KernelShare* share = nullptr;
  KernelPromise promise = kSameEverywhere;
};

constexpr KernelEntry own_entry(std::string_view op, std::string_view name, KernelFactory* factory,
                                const EntryOptions& options = {}) {
  return {
      op,           name, Provider::own, factory, options.storage, Arithmetic::f32, options.promise, options.speed.best,
      options.share};
}

// For a kernel that moves elements of any type, or computes on 64-bit integers.
constexpr KernelEntry exact_entry(std::string_view op, std::string_view name, KernelFactory* factory) {
  return {op, name, Provider::own, factory, kFloatingTypes, Arithmetic::f64, kSameEverywhere};
}

}  // namespace ridgeline::device
