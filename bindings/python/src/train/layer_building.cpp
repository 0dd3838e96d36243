#include "layer_building.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace ridgeline::python {
namespace {

[[noreturn]] void refuse(const std::string& what, nb::handle given, const std::string& meant) {
  throw Error(what + " is " + shown(nb::repr(given)) + "; " + meant, ErrorKind::usage);
}

bool one_or_several(nb::handle given, Integers& values) {
  std::int64_t one = 0;
  if (PyBool_Check(given.ptr())) return false;
  if (nb::try_cast(given, values)) return true;
  if (!nb::try_cast(given, one)) return false;
  values = {one};
  return true;
}

}  // namespace

nn::Extent extent_of(const std::string& what, nb::handle given) {
  Integers values;
  if (!one_or_several(given, values) || values.empty() || values.size() > 2)
    refuse(what, given, "a number, or height and width");
  return values.size() == 1 ? nn::Extent(values[0]) : nn::Extent(values[0], values[1]);
}

nn::Padding padding_of(const std::string& what, nb::handle given) {
  Integers values;
  if (one_or_several(given, values)) {
    if (values.size() == 1) return {values[0]};
    if (values.size() == 4) return {values[0], values[1], values[2], values[3]};
  }
  refuse(what, given, "a number of pixels for all sides, or top, bottom, left and right");
}

GivenInit init_of(nb::handle given) {
  if (Init value; nb::try_cast(given, value)) return {.value = value};
  if (std::string name; nb::try_cast(given, name)) return {.rule = nn::init_named(name)};
  throw Error("a parameter begins as " + shown(nb::repr(given)) +
                  "; the name of a rule of ridgeline.nn.inits(), normal(deviation) or constant(value) is meant",
              ErrorKind::usage);
}

void LayerInits::settle(std::vector<nn::ParameterSpec>& parameters, std::size_t from, const std::string& layer) const {
  for (std::size_t i = from; i < parameters.size(); ++i) {
    if (weight.value && parameters[i].name == layer + ".weight") parameters[i].init = *weight.value;
    if (bias.value && parameters[i].name == layer + ".bias") parameters[i].init = *bias.value;
  }
}

}  // namespace ridgeline::python
