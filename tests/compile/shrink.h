// tests/compile/shrink.h
//
// Reduces a graph that shows a fault to the fewest ops, results, updates and arguments that still show it, as a text
// test on disk.
#pragma once

#include <functional>
#include <string>

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/op/evaluate.h"

namespace ridgeline::testing {

struct GraphCase {
  Graph graph;
  Arguments arguments;  // of all of its arguments
};

// `fails` says whether a case shows the fault; it must for the given one. Removes results and updates, and replaces ops
// by values of the references, as long as the fault remains.
GraphCase shrink(GraphCase found, const std::function<bool(const GraphCase&)>& fails);

// Writes NAME.rdg with `comment` at its top, and NAME.safetensors with the values of the arguments, into the folder
// RIDGELINE_FAILURES (or the system's temporary folder). Returns the command that shows the case.
std::string write_case(const GraphCase& found, const std::string& name, const std::string& comment);

}  // namespace ridgeline::testing
