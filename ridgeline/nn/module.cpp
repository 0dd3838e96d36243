#include "ridgeline/nn/module.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"
#include "ridgeline/core/math.h"
#include "ridgeline/core/random.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/uniform_fill.h"
#include "ridgeline/nn/layer_calls.h"

namespace ridgeline::nn {
namespace {

// A number in (0,1], so that its logarithm is finite.
double positive_uniform(std::uint32_t bits) { return (static_cast<double>(bits) + 1.0) * 0x1p-32; }

// Four numbers of N(0,deviation) from one block of random bits, by Box and Muller.
void draw_normal(double deviation, const PhiloxBlock& bits, double (&out)[4]) {
  for (std::size_t pair = 0; pair < 4; pair += 2) {
    const double radius = deviation * std::sqrt(-2.0 * portable_log(positive_uniform(bits[pair])));
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(bits[pair + 1]) * 0x1p-32;
    out[pair] = radius * portable_cos(angle);
    out[pair + 1] = radius * portable_sin(angle);
  }
}

void fill_normal(PhiloxKey key, double deviation, std::uint64_t first_block, std::span<float> to) {
  for (std::size_t at = 0; at < to.size(); at += 4) {
    const std::uint64_t block = first_block + at / 4;
    double drawn[4];
    draw_normal(deviation,
                philox4x32(key, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0}),
                drawn);
    for (std::size_t lane = 0; lane < std::min<std::size_t>(4, to.size() - at); ++lane)
      to[at + lane] = static_cast<float>(drawn[lane]);
  }
}

// The argument of that name, for a layer that was called before; empty: it is declared for the first time.
Value declared_before(GraphBuilder& builder, const std::string& name, const Shape& shape,
                      const std::source_location& at) {
  const LayerCalls* calls = LayerCalls::current();
  const ValueId id = calls != nullptr && calls->earlier > 0 ? builder.graph().find_argument(name) : kNoValue;
  if (id == kNoValue) return {};
  const ValueType& type = builder.graph().value(id).type;
  if (type.shape == shape) return builder.value(id);
  throw Error("parameter " + name + " is " + type.to_string() + " at one call of its layer and " +
              ValueType{type.dtype, shape}.to_string() + " at another" + behind_message(at));
}

}  // namespace

Value LayerCalls::newest(const Value& statistic) const {
  const auto found = moved_.find(statistic.id());
  return found == moved_.end() ? statistic : found->second.next;
}

void LayerCalls::move(const Value& statistic, const Value& next) {
  moved_.insert_or_assign(statistic.id(), Moved{statistic, next});
}

void LayerCalls::finish() {
  for (const auto& [id, moved] : moved_) moved.statistic.builder().update(moved.statistic, moved.next);
  moved_.clear();
}

Tensor initialize(const ParameterSpec& spec, std::uint64_t seed) {
  Tensor tensor(spec.dtype, spec.shape);
  initialize(spec, seed, tensor);
  return tensor;
}

void initialize(const ParameterSpec& spec, std::uint64_t seed, Tensor& tensor) {
  const std::int64_t elements = tensor.elements();
  if (spec.init.rule == Init::Rule::constant) {
    for (std::int64_t i = 0; i < elements; ++i) tensor.set(i, spec.init.amount);
    return;
  }
  if (spec.dtype != DType::f32) {
    throw Error("parameter " + spec.name + " is " + std::string(name_of(spec.dtype)) +
                ": random values are drawn for f32 only, others begin as a constant" + behind_message(spec.where));
  }
  const PhiloxKey key = philox_key(seed, "init/" + spec.name);
  float* values = tensor.data<float>();
  const auto fill = spec.init.rule == Init::Rule::uniform ? device::fill_symmetric_uniform : fill_normal;
  parallel_for((elements + 3) / 4, 4096, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t count = std::min(4 * end, elements) - 4 * begin;
    fill(key, spec.init.amount, static_cast<std::uint64_t>(begin),
         {values + 4 * begin, static_cast<std::size_t>(std::max<std::int64_t>(0, count))});
  });
}

Value ModelContext::parameter(std::string name, Shape shape, Init init, const std::source_location& at) {
  if (const Value known = declared_before(builder, name, shape, at); known.defined()) return known;
  const Value value = builder.param(name, {DType::f32, shape});
  parameters.push_back({.name = std::move(name), .shape = std::move(shape), .init = init, .where = Location::of(at)});
  return value;
}

Value ModelContext::statistic(std::string name, Shape shape, Init init, bool variance, const std::source_location& at) {
  if (const Value known = declared_before(builder, name, shape, at); known.defined()) return known;
  const Value value = builder.state(name, {DType::f32, shape});
  parameters.push_back({.name = std::move(name),
                        .shape = std::move(shape),
                        .init = init,
                        .role = ParameterRole::statistic,
                        .decay = false,
                        .variance = variance,
                        .where = Location::of(at)});
  return value;
}

}  // namespace ridgeline::nn
