// ridgeline/nn/module.h
//
// How a model declares parameters and batch-norm statistics while it builds its graph: by name, shape and rule of
// initialisation. A model is a function from a ModelContext to logits; it keeps no state.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/compile/run/parameter_spec.h"
#include "ridgeline/core/tensor.h"
#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/nn/init.h"

namespace ridgeline::nn {

using ridgeline::ParameterRole;
using ridgeline::ParameterSpec;

// The initial value: a pure function of (seed, name, shape, rule), independent of other declarations and of the number
// of threads.
Tensor initialize(const ParameterSpec& spec, std::uint64_t seed);
// The same, written into a tensor of the parameter's type and shape.
void initialize(const ParameterSpec& spec, std::uint64_t seed, Tensor& to);

struct ModelContext {
  GraphBuilder& builder;
  bool training = false;
  Value images;                            // f32[N,H,W,C], normalised
  Value step;                              // i64[], keys the dropout of a step; undefined outside training
  std::uint64_t seed = 0;                  // of dropout
  std::vector<ParameterSpec>& parameters;  // grows as layers declare theirs
  std::int64_t statistics_ranks = 1;       // number of ranks of group "world" over which batch norms compute statistics
  std::int64_t loss_ranks = 1;             // number of ranks over whose counted rows a loss is the mean, with row_mask
  Value row_mask = {};  // f32[N] of a training step: batch norms ignore rows where it is 0; undefined: none

  // The line is for the message about a parameter that the loss does not need.
  Value parameter(std::string name, Shape shape, Init init,
                  const std::source_location& at = std::source_location::current());
  Value statistic(std::string name, Shape shape, Init init, bool variance = false,
                  const std::source_location& at = std::source_location::current());
};

}  // namespace ridgeline::nn
