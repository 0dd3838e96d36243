// ridgeline/compile/run/parameter_spec.h
//
// What is known of a param or state argument of a step besides its type: what it is for, and how its first value is
// drawn. Layers and optimizers make specifications (nn/), the store keeps the values, and files are read according to
// them (weights.h). Plain values.
#pragma once

#include <string>

#include "ridgeline/core/dtype.h"
#include "ridgeline/core/shape.h"
#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// A rule of initialisation, resolved to its numbers.
struct Init {
  enum class Rule { constant, uniform, normal };
  Rule rule = Rule::constant;
  double amount = 0;  // the constant; the bound b of U(-b,b); the standard deviation of N(0,amount)

  bool zeros() const { return rule == Rule::constant && amount == 0; }
};

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
  bool decay = true;      // included in the L2 penalty
  bool variance = false;  // a batch norm's variance: no value is below 0
  Location where = {};    // the user's line that declared it, for messages

  bool trainable() const { return role == ParameterRole::trainable; }
  ValueKind kind() const { return trainable() ? ValueKind::param : ValueKind::state; }
};

}  // namespace ridgeline
