// bindings/python/src/train/command.h
//
// Runs the command line program in Python (python -m ridgeline).
#pragma once

#include <nanobind/nanobind.h>

namespace ridgeline::python {

void bind_command(nanobind::module_& m);

}  // namespace ridgeline::python
