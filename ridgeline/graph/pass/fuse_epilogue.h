// ridgeline/graph/pass/fuse_epilogue.h
//
// Lets conv2d and dense apply the relu that follows them, where nobody else reads what comes before it.
// Keeps: every returned value and update, and the name of the conv2d or dense. Drops: the relu.
#pragma once

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

Graph fuse_epilogue(Graph graph);

}  // namespace ridgeline
