// ridgeline/graph/ir/function_names.h
//
// In the text of a graph, its functions and the functions that they call are listed side by side, so one name must mean
// one body in the whole graph.
#pragma once

#include <map>
#include <string>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// Each function's text, by its name.
using FunctionTexts = std::map<std::string, std::string>;

// Of the graph's functions, and of the functions in them.
FunctionTexts function_texts(const Graph& graph);
// Renames the functions of `body`, nested ones too, to name, name_1, ... where `taken` has another body under their
// name, enters them in `taken`, and adapts the calls.
void name_functions_apart(Graph& body, FunctionTexts& taken);
// The first of name, name_1, ... that is free in `taken` or has this body there; entered in `taken`.
std::string name_for(const Graph& body, const std::string& name, FunctionTexts& taken);

}  // namespace ridgeline
