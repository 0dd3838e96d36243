// bindings/python/src/graph/value_class.h
#pragma once

#include <nanobind/nanobind.h>

namespace ridgeline::python {

namespace nb = nanobind;

// The Python class Value: operators and methods that add one op. Those of several ops are in
// ridgeline/graph/_operators.py.
void bind_value_class(nb::module_& m);

}  // namespace ridgeline::python
