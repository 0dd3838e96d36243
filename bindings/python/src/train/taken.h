// bindings/python/src/train/taken.h
//
// Arguments that Python hands over by name: taken out of the dict, so that what is left is known by nobody.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <type_traits>

#include "../values.h"
#include "ridgeline/core/error.h"

namespace ridgeline::python {

// `otherwise` where it is not there or None; an Error where it is of another type.
template <class T>
T taken(nb::dict& settings, const char* name, T otherwise) {
  if (!settings.contains(name)) return otherwise;
  const nb::object given = settings[name];
  nb::del(settings[name]);
  if (given.is_none()) return otherwise;
  T value{};
  const bool whole = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  if ((!whole || !PyBool_Check(given.ptr())) && nb::try_cast(given, value)) return value;
  throw Error("[model] argument '" + std::string(name) + "' is " + shown(nb::repr(given)) + ", which has another type",
              ErrorKind::usage);
}

}  // namespace ridgeline::python
