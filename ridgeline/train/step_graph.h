// ridgeline/train/step_graph.h
//
// Information about a training step's graph: names of all values, gradients by parameter, and the graph for
// TensorBoard. Pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline::train {

// By ValueId: an argument's name, or the name of the op that makes the value, with ":1" for its second result. An op
// with the name of an argument or an earlier value gets a "#".
std::vector<std::string> names_of_values(const Graph& graph);

// The gradient that the update of each parameter reads, by the parameter's name.
std::map<std::string, ValueId> gradients_of_updates(const Graph& graph);

// A serialised tensorflow.GraphDef: a node for each op and argument, attributes as texts.
std::string graph_def(const Graph& graph);

}  // namespace ridgeline::train
