// ridgeline/graph/pass/draw_by_number.h
//
// Random numbers of a step that is copied several times, once for each part or micro-batch of its batch.
#pragma once

#include <cstdint>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// Gives a random op the key of copy `number`. Copy 0 draws the numbers of the original step.
void draw_by_number(Node& node, std::int64_t number);

}  // namespace ridgeline
