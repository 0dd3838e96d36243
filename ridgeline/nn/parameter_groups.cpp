#include "ridgeline/nn/parameter_groups.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/core/error.h"

namespace ridgeline::nn {

bool matches(std::string_view pattern, std::string_view name) {
  // Where the last star is, and how many characters it takes: on a mismatch it takes one more.
  std::size_t p = 0, n = 0, star = std::string_view::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

namespace {

void check(const ParameterGroup& group, const std::vector<ParameterSpec>& parameters) {
  const auto refuse = [&](const std::string& what) {
    throw Error("parameters '" + group.pattern + "': " + what, ErrorKind::usage);
  };
  if (!std::isfinite(group.rate_factor) || group.rate_factor < 0) {
    refuse("the factor of the rate is " + std::to_string(group.rate_factor) + "; it must be finite and not negative");
  }
  if (group.weight_decay && !(std::isfinite(*group.weight_decay) && *group.weight_decay >= 0)) {
    refuse("weight_decay is " + std::to_string(*group.weight_decay) + "; it must be finite and not negative");
  }
  std::string some;
  int listed = 0;
  for (const ParameterSpec& spec : parameters) {
    if (!spec.trainable()) continue;
    if (matches(group.pattern, spec.name)) return;
    if (listed++ < 6) some += (some.empty() ? "" : ", ") + spec.name;
  }
  refuse("the model has no parameter of such a name (it has " + some + (listed > 6 ? ", ..." : "") + ")");
}

}  // namespace

std::vector<TrainedParameter> trained_parameters(const std::vector<ParameterSpec>& parameters, double weight_decay,
                                                 bool decay_vectors, std::span<const ParameterGroup> groups) {
  for (const ParameterGroup& group : groups) check(group, parameters);
  std::vector<TrainedParameter> trained;
  for (const ParameterSpec& spec : parameters) {
    if (!spec.trainable()) continue;
    const bool decays = spec.decay && (decay_vectors || spec.shape.rank() > 1);
    TrainedParameter parameter{.spec = spec, .weight_decay = decays ? weight_decay : 0};
    parameter.spec.decay = decays;
    bool frozen = false;
    for (const ParameterGroup& group : groups) {
      if (!matches(group.pattern, spec.name)) continue;
      frozen = group.frozen;
      parameter.rate_factor = group.rate_factor;
      parameter.weight_decay = group.weight_decay.value_or(decays ? weight_decay : 0);
    }
    if (!frozen) trained.push_back(std::move(parameter));
  }
  if (trained.empty())
    throw Error("every parameter of the model is frozen: there is nothing to train", ErrorKind::usage);
  return trained;
}

}  // namespace ridgeline::nn
