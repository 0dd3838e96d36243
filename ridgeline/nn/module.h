// ridgeline/nn/module.h
//
// How a model declares what it needs while it builds its graph: parameters and batch-norm statistics by name, shape and
// rule of initialisation. A model is a function from a ModelContext to logits; it keeps no state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/nn/init.h"

namespace ridgeline::nn {

enum class ParameterRole {
  trainable,  // a param of the graph, updated by the optimizer
  statistic,  // batch-norm mean or variance: a state, updated by training's forward pass
  slot,       // an optimizer's memory of one parameter: a state
  counter,    // global_step: a state
};

// One param or state argument of a step, by its name in the graph and in files.
struct ParameterSpec {
  std::string name;
  Shape shape;  // logical: kernels [K,R,S,C/groups], dense weights [out,in]
  Init init;
  ParameterRole role = ParameterRole::trainable;
  DType dtype = DType::f32;
  bool decay = true;  // counted by the L2 penalty

  bool trainable() const { return role == ParameterRole::trainable; }
};

// The value at the start of a run: a pure function of (seed, name, shape, rule), whatever was declared before and
// however many threads there are.
Tensor initialize(const ParameterSpec& spec, std::uint64_t seed);

struct ModelContext {
  GraphBuilder& builder;
  bool training = false;
  Value images;                            // f32[N,H,W,C], normalised
  Value step;                              // i64[], keys the dropout of a step; undefined outside training
  std::uint64_t seed = 0;                  // of dropout
  std::vector<ParameterSpec>& parameters;  // grows as layers declare theirs

  Value parameter(std::string name, Shape shape, Init init);
  Value statistic(std::string name, Shape shape, Init init);
};

}  // namespace ridgeline::nn
