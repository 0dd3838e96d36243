// ridgeline/nn/module.h
//
// How a model declares what it needs while it builds its graph: parameters and batch-norm statistics by name, shape and
// rule of initialisation. A model is a function from a ModelContext to logits; it keeps no state.
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

// The value at the start of a run: a pure function of (seed, name, shape, rule), whatever was declared before and
// however many threads there are.
Tensor initialize(const ParameterSpec& spec, std::uint64_t seed);
// The same into a tensor of the parameter's type and shape, whatever it holds.
void initialize(const ParameterSpec& spec, std::uint64_t seed, Tensor& to);

struct ModelContext {
  GraphBuilder& builder;
  bool training = false;
  Value images;                            // f32[N,H,W,C], normalised
  Value step;                              // i64[], keys the dropout of a step; undefined outside training
  std::uint64_t seed = 0;                  // of dropout
  std::vector<ParameterSpec>& parameters;  // grows as layers declare theirs
  std::int64_t statistics_ranks = 1;       // over which batch norms take the statistics of a batch, of group "world"
  std::int64_t loss_ranks = 1;             // whose rows that count a loss is the mean of, where there is a row_mask
  Value row_mask = {};  // f32[N] of a training step: batch norms leave rows out where it is 0; undefined: all count

  // The line is told where the loss turns out not to need it.
  Value parameter(std::string name, Shape shape, Init init,
                  const std::source_location& at = std::source_location::current());
  Value statistic(std::string name, Shape shape, Init init, bool variance = false,
                  const std::source_location& at = std::source_location::current());
};

}  // namespace ridgeline::nn
