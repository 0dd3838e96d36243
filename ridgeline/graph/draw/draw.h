// ridgeline/graph/draw/draw.h
//
// Step graphs to look at, as SVG. Inputs stand at the top, returned values at the bottom; parameters, states and
// constants are named in the boxes of the ops that read them, updates in the box of the op that makes the next version.
// Each function of the graph is a panel of its own. Pure functions; nothing runs.
#pragma once

#include <string>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// More boxes than kMostDrawn are an Error: the drawing would be unreadable.
constexpr std::size_t kMostDrawn = 3000;
std::string to_svg(const Graph& graph, const std::string& title = "");

}  // namespace ridgeline
