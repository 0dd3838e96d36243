// ridgeline/graph/ir/function_names.h
//
// In the text of a graph its functions and theirs stand side by side, so a name means one body in all of a graph.
#pragma once

#include <map>
#include <string>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// The text of each body by its name.
using FunctionTexts = std::map<std::string, std::string>;

// Of the graph's functions, and of theirs.
FunctionTexts function_texts(const Graph& graph);
// Gives the functions of `body`, and theirs, names that no other body has in `taken`, where they are entered: name,
// name_1, ... Calls follow.
void name_functions_apart(Graph& body, FunctionTexts& taken);
// The first of name, name_1, ... that none or this body has in `taken`, where it is entered.
std::string name_for(const Graph& body, const std::string& name, FunctionTexts& taken);

}  // namespace ridgeline
