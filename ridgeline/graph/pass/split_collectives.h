// ridgeline/graph/pass/split_collectives.h
//
// Replaces every whole exchange by the start where it stood and the done in front of the first reader of its result, so
// that what stands between runs meanwhile.
// Keeps: every value, and the order in which exchanges begin.
#pragma once

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

Graph split_collectives(Graph graph);

}  // namespace ridgeline
