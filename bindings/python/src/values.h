// bindings/python/src/values.h
//
// Python objects and the arguments of nodes and transforms, both ways, steered by the argument's entry in the tables
// of the data graph. All functions need the interpreter's lock. A value of another type than the argument's is an Error
// that names op and argument.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "ridgeline/data/ir/registry.h"

namespace ridgeline::python {

namespace nb = nanobind;

// What the argument `spec` of `op` gets. One number stands for a list of one, one text for a list of one; texts may be
// paths (str, bytes, os.PathLike).
data::Value value_of(const std::string& op, const data::ArgSpec& spec, nb::handle given);
// Absent and None leave an argument to its default. An unknown name is an Error that names the nearest one.
data::Args args_of(const std::string& op, const std::vector<data::ArgSpec>& specs, nb::handle given);

nb::object to_python(const data::Value& value);
nb::dict to_python(const data::Args& args);
// Texts are bytes that need not be UTF-8: as os.fsdecode.
nb::str to_python(const std::string& text);
std::string text_of(nb::handle text);
// str(object).
std::string shown(nb::handle object);

// {"op", "doc", "kind", "args": [{"name", "type", "doc", "required", "default", "allowed"}], ...}
nb::list node_table();
nb::list transform_table();

}  // namespace ridgeline::python
