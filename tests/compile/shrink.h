// tests/compile/shrink.h
//
// A graph that shows a fault made small: the fewest ops, results, updates and arguments with which it still does, as a
// text test on disk.
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

// `fails` says whether a case shows the fault; it must for the given one. Leaves out results and updates, and puts
// values that the references compute in place of ops, as long as the fault stays.
GraphCase shrink(GraphCase found, const std::function<bool(const GraphCase&)>& fails);

// Writes NAME.rdg, headed by `comment`, and NAME.safetensors with the values of the arguments, into the folder that
// RIDGELINE_FAILURES names (or the system's temporary one). Returns the command that shows the case.
std::string write_case(const GraphCase& found, const std::string& name, const std::string& comment);

}  // namespace ridgeline::testing
