// tests/device/cuda/op_support.h
//
// Host versions of kernels beside the reference of their op.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/device/cuda/kernels/row.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/op/rules.h"

namespace ridgeline::cuda::testing {

using rules::for_each_index;
using rules::Integers;
using rules::Reals;

inline constexpr DType kStorageTypes[] = {DType::f32, DType::bf16, DType::f16};

// Random values of a type; a seed counts through all of them.
class Values {
 public:
  explicit Values(unsigned seed) : random_(seed) {}
  Tensor uniform(DType type, Shape shape, double low = -1, double high = 1);
  // With zeros of both signs, infinities, NaN and equal values among them.
  Tensor special(DType type, Shape shape);
  Tensor integers(DType type, Shape shape, int below);
  std::int64_t pick(std::initializer_list<std::int64_t> from) { return from.begin()[random_() % from.size()]; }
  bool coin() { return random_() % 2 != 0; }
  std::mt19937& random() { return random_; }

 private:
  std::mt19937 random_;
};

// A result that begins as noise.
Tensor noise(DType type, Shape shape);
std::vector<std::uint8_t> scratch(std::size_t bytes);

std::vector<Tensor> reference_of(const std::string& op, const std::vector<Tensor>& inputs,
                                 const Attributes& attributes = {});

// "" where each element is within `band` units of the type's rounding, of itself or of `size` if that is larger; NaN
// equals NaN. Else the first that is not.
std::string outside_band(const Tensor& got, const Tensor& expected, double band, double size = 1);
// "" where equal bit by bit, NaN equal to NaN.
std::string unequal_bits(const Tensor& got, const Tensor& expected);

template <class T>
T* of(Tensor& t) {
  return static_cast<T*>(t.raw());
}

}  // namespace ridgeline::cuda::testing
