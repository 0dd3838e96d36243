#include "ridgeline/nn/init.h"

#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"

namespace ridgeline::nn {

Fans fans_of(const Shape& shape, const std::source_location& at) {
  if (shape.rank() == 2) return {shape[1], shape[0]};
  if (shape.rank() != 4) {
    throw Error("fans are those of kernels [K,R,S,C] and of dense weights [out,in], not of a parameter " +
                shape.to_string() + behind_message(at));
  }
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
