// ridgeline/graph/pass/draw_by_number.h
//
// Of a step that is there several times, once for each part or micro-batch of its batch.
#pragma once

#include <cstdint>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// Gives a random op the key of its copy of that number. Copy 0 draws as the step does that is there once.
void draw_by_number(Node& node, std::int64_t number);

}  // namespace ridgeline
