// ridgeline/graph/pass/schedule.h
//
// Orders the ops: as they were built, except that an op whose result replaces a parameter or state runs as soon as its
// operands are computed and the old value is no longer read. A gradient is then consumed while it is in cache, and its
// memory is free for the next one.
// Keeps: every value. Changes: the order only.
#pragma once

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

Graph schedule(Graph graph);

}  // namespace ridgeline
