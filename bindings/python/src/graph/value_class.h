// bindings/python/src/graph/value_class.h
#pragma once

#include <nanobind/nanobind.h>

namespace ridgeline::python {

namespace nb = nanobind;

// The class Value of Python: operators and methods that make ops. What is more than one op is in
// ridgeline/graph/_operators.py.
void bind_value_class(nb::module_& m);

}  // namespace ridgeline::python
