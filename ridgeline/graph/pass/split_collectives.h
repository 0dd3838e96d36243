// ridgeline/graph/pass/split_collectives.h
//
// Replaces every whole exchange by its start, at the same place, and its done, before the first reader of its result,
// so that the ops in between run meanwhile.
#pragma once

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

Graph split_collectives(Graph graph);

}  // namespace ridgeline
