// ridgeline/nn/parameter_groups.h
//
// Parameters of a model that are trained differently: frozen, with another rate, with another decay. Plain values and
// functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/nn/module.h"

namespace ridgeline::nn {

struct ParameterGroup {
  std::string pattern;     // of names; * matches any characters, ? one: "features.*", "*/bias"
  double rate_factor = 1;  // times the schedule's rate; not negative
  std::optional<double> weight_decay = {};
  bool frozen = false;  // no gradient, no slot, no update
};

// How one parameter is trained.
struct TrainedParameter {
  ParameterSpec spec;
  double rate_factor = 1;
  double weight_decay = 0;
};

// The parameters of a model that a step updates, in their order: trainable and not frozen. If several groups match a
// name, the last counts. A pattern that matches no parameter is an Error (usage) that lists some names.
std::vector<TrainedParameter> trained_parameters(const std::vector<ParameterSpec>& parameters, double weight_decay,
                                                 bool decay_vectors, std::span<const ParameterGroup> groups);

bool matches(std::string_view pattern, std::string_view name);

}  // namespace ridgeline::nn
