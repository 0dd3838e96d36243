// bindings/python/src/graph/bind_functions.h
#pragma once

#include <nanobind/nanobind.h>

namespace ridgeline::python {

namespace nb = nanobind;

// What ridgeline.graph makes @function of: graphs, arrays, traces, programs, eager runs.
void bind_functions(nb::module_& m);

}  // namespace ridgeline::python
