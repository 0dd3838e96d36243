// ridgeline/graph/pass/inline.h
//
// Replaces every `call` by the body of its function, deepest first.
// Keeps: values; each inlined op carries the function's line and the caller's. Drops: the functions.
#pragma once

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

Graph inline_calls(Graph graph);

}  // namespace ridgeline
