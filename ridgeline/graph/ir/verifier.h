// ridgeline/graph/ir/verifier.h
//
// Checks that a graph is well-formed: run after every pass in tests and debug builds. What it finds is a bug of a pass
// or a builder, except in graphs that were parsed from a user's text.
#pragma once

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// Throws an Error that names the node: values defined once and before use, known ops, complete attributes, types that
// agree with inference, unique node names, updates of parameters and states only and once, and no use of version n of
// a parameter after the op that overwrites it (traits kUpdate).
void verify(const Graph& graph);

}  // namespace ridgeline
