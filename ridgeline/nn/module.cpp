#include "ridgeline/nn/module.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ridgeline/core/error.h"
#include "ridgeline/core/math.h"
#include "ridgeline/core/random.h"
#include "ridgeline/core/threads.h"

namespace ridgeline::nn {
namespace {

// A number in (0,1], so that its logarithm is finite.
double positive_uniform(std::uint32_t bits) { return (static_cast<double>(bits) + 1.0) * 0x1p-32; }

// The middle of one of 2^24 equal cells of (-1,1): symmetric, never an end.
double symmetric_uniform(std::uint32_t bits) { return (static_cast<double>(bits >> 8) + 0.5) * 0x1p-23 - 1.0; }

// Four numbers of the law from one block of random bits.
void draw(const Init& init, const PhiloxBlock& bits, double (&out)[4]) {
  if (init.law == Init::Law::uniform) {
    for (std::size_t lane = 0; lane < 4; ++lane) out[lane] = init.amount * symmetric_uniform(bits[lane]);
    return;
  }
  for (std::size_t pair = 0; pair < 4; pair += 2) {  // Box and Muller
    const double radius = init.amount * std::sqrt(-2.0 * portable_log(positive_uniform(bits[pair])));
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(bits[pair + 1]) * 0x1p-32;
    out[pair] = radius * portable_cos(angle);
    out[pair + 1] = radius * portable_sin(angle);
  }
}

}  // namespace

Tensor initialize(const ParameterSpec& spec, std::uint64_t seed) {
  Tensor tensor = Tensor::zeros(spec.dtype, spec.shape);
  const std::int64_t elements = tensor.elements();
  if (spec.init.law == Init::Law::constant) {
    if (spec.init.amount != 0) {
      for (std::int64_t i = 0; i < elements; ++i) tensor.set(i, spec.init.amount);
    }
    return tensor;
  }
  RIDGELINE_CHECK(spec.dtype == DType::f32, "random values are drawn for f32 parameters only");
  const PhiloxKey key = philox_key(seed, "init/" + spec.name);
  float* values = tensor.data<float>();
  parallel_for((elements + 3) / 4, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const auto counter = static_cast<std::uint64_t>(block);
      double drawn[4];
      draw(spec.init,
           philox4x32(key, {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0}),
           drawn);
      const std::int64_t count = std::min<std::int64_t>(4, elements - 4 * block);
      for (std::int64_t lane = 0; lane < count; ++lane) values[4 * block + lane] = static_cast<float>(drawn[lane]);
    }
  });
  return tensor;
}

Value ModelContext::parameter(std::string name, Shape shape, Init init) {
  const Value value = builder.param(name, {DType::f32, shape});
  parameters.push_back({std::move(name), std::move(shape), init});
  return value;
}

Value ModelContext::statistic(std::string name, Shape shape, Init init) {
  const Value value = builder.state(name, {DType::f32, shape});
  parameters.push_back({std::move(name), std::move(shape), init, ParameterRole::statistic, DType::f32, false});
  return value;
}

}  // namespace ridgeline::nn
