// ridgeline/graph/pass/simplify.h
//
// Folds constants, merges equal ops, drops ops that change nothing (x-0, x*1, scale by 1, casts and reshapes to the
// same type, dropout that keeps everything) and ops whose results nobody uses. Keeps: every returned value and update,
// bit by bit. Drops: the ops named above.
#pragma once

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

Graph simplify(Graph graph);

}  // namespace ridgeline
