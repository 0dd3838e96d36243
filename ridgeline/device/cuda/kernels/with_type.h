// ridgeline/device/cuda/kernels/with_type.h
//
// Calls the kernels of an element type that is known at run time. For the .cpp files of families.
#pragma once

#include <string>

#include "ridgeline/core/dtype.h"
#include "ridgeline/core/error.h"
#include "ridgeline/device/cuda/kernels/row.h"

namespace ridgeline::cuda {

// Calls run(T()) with T the stored type.
template <class Run>
void with_type(DType type, const Run& run) {
  switch (type) {
    case DType::f32: return run(float());
    case DType::bf16: return run(bfloat16());
    case DType::f16: return run(float16());
    default: RIDGELINE_CHECK(false, "our kernels store f32, bf16 and f16, not " + std::string(name_of(type)));
  }
}

// Calls run(T()) with T a type that tensor cores take.
template <class Run>
void with_narrow_type(DType type, const Run& run) {
  RIDGELINE_CHECK(type == DType::bf16 || type == DType::f16, "tensor cores take bf16 and f16");
  if (type == DType::bf16)
    run(bfloat16());
  else
    run(float16());
}

// Calls run(T(), To()) for results of that type or f32.
template <class Run>
void with_types(DType type, DType result, const Run& run) {
  with_type(type, [&]<class T>(T) {
    if (result == type) return run(T(), T());
    RIDGELINE_CHECK(result == DType::f32, "results are of the operands' type or f32");
    if constexpr (!std::is_same_v<T, float>) run(T(), float());
  });
}

inline bool aligned_to(std::size_t bytes, std::initializer_list<const void*> addresses) {
  for (const void* address : addresses) {
    if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) return false;
  }
  return true;
}

template <class T>
const T* in(const void* address) {
  return static_cast<const T*>(address);
}
template <class T>
T* out(void* address) {
  return static_cast<T*>(address);
}

}  // namespace ridgeline::cuda
