// ridgeline/nn/init.h
//
// Rules of initialisation. A rule is resolved to its numbers when a parameter is declared, where fan-in and fan-out are
// known: a constant, a uniform bound or a standard deviation.
#pragma once

#include <cstdint>
#include <source_location>

#include "ridgeline/compile/run/parameter_spec.h"
#include "ridgeline/core/shape.h"

namespace ridgeline::nn {

using ridgeline::Init;

// Inputs and outputs of one unit: [K,R,S,C] has R*S*C and R*S*K, [out,in] has in and out.
struct Fans {
  std::int64_t in = 0;
  std::int64_t out = 0;
};
// For other ranks an Error with the line.
Fans fans_of(const Shape& shape, const std::source_location& at = std::source_location::current());

inline Init constant(double value) { return {Init::Rule::constant, value}; }
inline Init zeros() { return constant(0); }
inline Init ones() { return constant(1); }
inline Init normal(double deviation) { return {Init::Rule::normal, deviation}; }
// U(+-sqrt(6 / fan_in)), He et al. 2015.
Init he_uniform(const Fans& fans);
// U(+-sqrt(6 / (fan_in + fan_out))), Glorot and Bengio 2010: "xavier".
Init glorot_uniform(const Fans& fans);
// U(+-sqrt(1 / fan_in)): variance_scaling(1/3, fan_in, uniform), and PyTorch's default for weights and biases
// (kaiming_uniform with a = sqrt(5)).
Init scaled_uniform(const Fans& fans);
// N(0, sqrt(2 / fan)).
Init he_normal(std::int64_t fan);

}  // namespace ridgeline::nn
