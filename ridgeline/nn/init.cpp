#include "ridgeline/nn/init.h"

#include <cmath>

#include "ridgeline/core/error.h"

namespace ridgeline::nn {

Fans fans_of(const Shape& shape) {
  if (shape.rank() == 2) return {shape[1], shape[0]};
  RIDGELINE_CHECK(shape.rank() == 4, "fans are those of kernels and dense weights");
  const std::int64_t window = shape[1] * shape[2];
  return {window * shape[3], window * shape[0]};
}

Init he_uniform(const Fans& fans) { return {Init::Rule::uniform, std::sqrt(6.0 / static_cast<double>(fans.in))}; }

Init glorot_uniform(const Fans& fans) {
  return {Init::Rule::uniform, std::sqrt(6.0 / (static_cast<double>(fans.in) + static_cast<double>(fans.out)))};
}

Init scaled_uniform(const Fans& fans) { return {Init::Rule::uniform, std::sqrt(1.0 / static_cast<double>(fans.in))}; }

Init he_normal(std::int64_t fan) { return normal(std::sqrt(2.0 / static_cast<double>(fan))); }

}  // namespace ridgeline::nn
