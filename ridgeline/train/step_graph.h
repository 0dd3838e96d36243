// ridgeline/train/step_graph.h
//
// What is asked of a training step's graph from outside: names of all values, gradients by parameter, and the graph as
// TensorBoard shows it. Pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline::train {

// By ValueId: an argument's name; that of the op that makes the value, ":1" behind it for its second result. An op that
// is called as an argument or an earlier value gets a "#".
std::vector<std::string> names_of_values(const Graph& graph);

// The gradient that the update of each parameter reads, by the parameter's name.
std::map<std::string, ValueId> gradients_of_updates(const Graph& graph);

// A serialised tensorflow.GraphDef: a node for each op and argument, attributes as texts.
std::string graph_def(const Graph& graph);

}  // namespace ridgeline::train
