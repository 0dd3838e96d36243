// bindings/python/src/train/layer_building.h
//
// What the layers of Python share: how their arguments are read, and how one is built at the line of the user. All
// functions need the interpreter's lock.
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

// A rule by its name, or numbers that do not depend on the shape (Init).
struct GivenInit {
  nn::InitRule rule = nn::zero_init;
  std::optional<Init> value = {};
};
GivenInit init_of(nb::handle given);

// Of a layer's weight and bias.
struct LayerInits {
  LayerInits() = default;
  LayerInits(nb::handle given_weight, nb::handle given_bias)
      : weight(init_of(given_weight)), bias(init_of(given_bias)) {}
  // The layer declared its parameters by the rules; those that were given as numbers begin with these.
  void settle(std::vector<nn::ParameterSpec>& parameters, std::size_t from, const std::string& layer) const;
  GivenInit weight, bias;
};

// Runs `build(context, at)` for the layer of that name, whose place in the user's program is `where`: ops, parameters
// and Errors are of that line. A layer that is called again has the parameters of its first call.
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
    // Some of the layer's own Errors end with the line that called it, which is one of this file; others with none.
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
