// bindings/python/src/train/command.h
//
// The command line of the program, run by Python (python -m ridgeline).
#pragma once

#include <nanobind/nanobind.h>

namespace ridgeline::python {

void bind_command(nanobind::module_& m);

}  // namespace ridgeline::python
