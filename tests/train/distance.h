// tests/train/distance.h
//
// The distance of two tensors of the same shape.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ridgeline/core/tensor.h"

namespace ridgeline::train {

// The largest difference, relative to the largest element of `b`, which counts as at least 1e-3.
inline double distance(const Tensor& a, const Tensor& b) {
  double worst = 0, largest = 1e-3;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    worst = std::max(worst, std::abs(a.at(i) - b.at(i)));
    largest = std::max(largest, std::abs(b.at(i)));
  }
  return worst / largest;
}

}  // namespace ridgeline::train
