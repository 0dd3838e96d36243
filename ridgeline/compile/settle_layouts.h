// ridgeline/compile/settle_layouts.h
//
// Settles the layouts of stored values before any launch exists, so that every launch sees the same one: homes that an
// earlier program has fixed first, then for each group the wish of the first kernel that may choose.
#pragma once

#include "ridgeline/compile/choose_kernels.h"

namespace ridgeline {

// Declares the graph's parameters and states in the session's store and settles `groups`. Returns the kernels that were
// chosen on the way, by op; empty ones elsewhere. Nothing in the store moves yet.
std::vector<Choice> settle_layouts(const Graph& graph, LayoutGroups& groups, Session& session, bool soft_placement);

// Gives every parameter and state that the graph reads or updates its home for good: its group's layout, or plain.
// Homes fixed before stay.
void fix_homes(const Graph& graph, const LayoutGroups& groups, ParameterStore& store);

}  // namespace ridgeline
