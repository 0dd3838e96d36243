// bindings/python/src/values.h
//
// Conversion between Python objects and arguments of nodes and transforms, by the types in the tables of the data
// graph. All functions need the GIL. A value of a wrong type is an Error that names op and argument.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "ridgeline/data/ir/registry.h"

namespace ridgeline::python {

namespace nb = nanobind;

// The value of the argument `spec` of `op`. A single number or text is accepted for a list; texts may be paths (str,
// bytes, os.PathLike).
data::Value value_of(const std::string& op, const data::ArgSpec& spec, nb::handle given);
// An absent argument, or None, gets its default. An unknown name is an Error that suggests the nearest one.
data::Args args_of(const std::string& op, const std::vector<data::ArgSpec>& specs, nb::handle given);

nb::object to_python(const data::Value& value);
nb::dict to_python(const data::Args& args);
// Texts are bytes that need not be UTF-8: converted like os.fsdecode.
nb::str to_python(const std::string& text);
std::string text_of(nb::handle text);
// str(object).
std::string shown(nb::handle object);

// {"op", "doc", "kind", "args": [{"name", "type", "doc", "required", "default", "allowed"}], ...}
nb::list node_table();
nb::list transform_table();

}  // namespace ridgeline::python
