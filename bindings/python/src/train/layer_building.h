// bindings/python/src/train/layer_building.h
//
// Shared by the Python layers: reading their arguments, and building a layer with the user's line as location. All
// functions need the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../values.h"
#include "graph_values.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"
#include "ridgeline/nn/layers.h"

namespace ridgeline::python {

using Integers = std::vector<std::int64_t>;

// One number, or height and width.
nn::Extent extent_of(const std::string& what, nb::handle given);
// One number for all sides, or top, bottom, left and right.
nn::Padding padding_of(const std::string& what, nb::handle given);

// An initialiser by its name, or numbers that do not depend on the shape (Init).
struct GivenInit {
  nn::InitRule rule = nn::zero_init;
  std::optional<Init> value = {};
};
GivenInit init_of(nb::handle given);

// Initialisers of a layer's weight and bias.
struct LayerInits {
  LayerInits() = default;
  LayerInits(nb::handle given_weight, nb::handle given_bias)
      : weight(init_of(given_weight)), bias(init_of(given_bias)) {}
  // Overwrites the initial values of the layer's parameters that were given as numbers.
  void settle(std::vector<nn::ParameterSpec>& parameters, std::size_t from, const std::string& layer) const;
  GivenInit weight, bias;
};

// Runs `build(context, at)` for the layer of that name, with the location `where` in the user's program for ops,
// parameters and Errors. A layer that is called several times uses the parameters of its first call.
template <class F>
Value build_layer(const std::string& kind, const std::string& name, nb::handle where, const LayerInits& inits,
                  F&& build) {
  BuildScope& scope = BuildScope::current(kind + "()");
  nn::ModelContext& context = scope.context();
  const Location line = line_of(where);
  const GraphBuilder::UserLine user(context.builder, line);
  const struct Calls {
    nn::LayerCalls& calls;
    int outer;
    ~Calls() { calls.earlier = outer; }
  } again{scope.calls(), scope.calls().earlier};
  scope.calls().earlier = name.empty() ? 0 : scope.earlier_calls(name);
  const std::size_t declared = context.parameters.size();
  const nn::At at = nn::At::current();
  try {
    const Value result = build(context, at);
    for (std::size_t i = declared; i < context.parameters.size(); ++i) context.parameters[i].where = line;
    inits.settle(context.parameters, declared, name);
    return result;
  } catch (const Error& error) {
    // Errors of the C++ layer end with the line that called it, which is a line of this file, or with none.
    std::string text = error.what();
    const std::string own = behind_message(at), users = behind_message(line);
    if (const std::size_t found = text.find(own); found != std::string::npos)
      text.replace(found, own.size(), users);
    else if (text.find(users) == std::string::npos)
      text += users;
    throw Error(text, ErrorKind::usage);
  }
}

void bind_sequence_layers(nb::module_& m);

}  // namespace ridgeline::python
