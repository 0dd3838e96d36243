// bindings/python/src/graph/bind_functions.h
#pragma once

#include <nanobind/nanobind.h>

namespace ridgeline::python {

namespace nb = nanobind;

// Binds what ridgeline.graph needs for @function: graphs, arrays, traces, programs, eager runs.
void bind_functions(nb::module_& m);

}  // namespace ridgeline::python
