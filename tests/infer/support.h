// tests/infer/support.h
//
// Models with random weights, and images that are not uniform.
#pragma once

#include <cstring>

#include "ridgeline/core/random.h"
#include "ridgeline/infer/model.h"
#include "ridgeline/nn/prediction_model.h"

namespace ridgeline::infer {

inline std::vector<NamedTensor> drawn_values(const std::vector<ParameterSpec>& specs, std::uint64_t seed = 3) {
  std::vector<NamedTensor> values;
  for (const ParameterSpec& spec : specs) values.push_back({spec.name, nn::initialize(spec, seed)});
  return values;
}

inline Model drawn_model(const std::string& name, std::int64_t classes, std::int64_t image_size,
                         std::int64_t rows = 1) {
  nn::StepOptions options{.model = &nn::model_named(name), .batch_size = rows, .image_size = image_size};
  options.model_options.num_classes = classes;
  nn::Step step = nn::build_prediction_step(options);
  return {.name = name,
          .graph = std::move(step.graph),
          .tensors = drawn_values(step.parameters),
          .preprocessing = nn::evaluation_transform(*options.model, image_size)};
}

inline Tensor drawn_pixels(const Shape& shape, std::uint32_t seed = 1) {
  Tensor pixels(DType::u8, shape);
  for (std::int64_t i = 0; i < pixels.elements(); ++i) {
    pixels.data<std::uint8_t>()[i] =
        static_cast<std::uint8_t>(255 * uniform_float(philox_element({seed, 2}, 0, static_cast<std::uint64_t>(i))));
  }
  return pixels;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

}  // namespace ridgeline::infer
