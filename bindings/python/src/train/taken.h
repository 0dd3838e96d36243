// bindings/python/src/train/taken.h
//
// Reads named arguments from Python and removes them from the dict, so that unknown names are left.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <type_traits>

#include "../values.h"
#include "ridgeline/core/error.h"

namespace ridgeline::python {

// `otherwise` if it is absent or None; an Error if it has another type.
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
