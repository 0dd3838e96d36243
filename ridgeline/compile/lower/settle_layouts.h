// ridgeline/compile/lower/settle_layouts.h
//
// Settles layouts before any launch exists, so that every launch sees the same one. Of stored values: homes that an
// earlier program has fixed first, then for each group the wish of the first kernel that may choose. Of activations:
// what the kernel that makes one has chosen, where all that read it agree.
#pragma once

#include "ridgeline/compile/lower/choose_kernels.h"

namespace ridgeline {

// Declares the graph's parameters and states in the store and settles their groups. Returns the kernels that were
// chosen on the way, by op; empty ones elsewhere. Nothing in the store moves yet.
std::vector<Choice> settle_stored(const Graph& graph, ValueLayouts& layouts, const Placement& placement, Log& log,
                                  ParameterStore& store, const OpTeams& teams = {});

// Takes back the layout of each activation that some reader wants otherwise: it is made in plain rows, and the choices
// of the ops around it are dropped. False when there was none, and all choices stand.
bool take_back_layouts(const Graph& graph, ValueLayouts& layouts, std::vector<Choice>& choices);

// Gives every parameter and state that the graph reads or updates its home for good: its group's layout, or plain.
// Homes fixed before stay.
void fix_homes(const Graph& graph, const LayoutGroups& groups, ParameterStore& store);

}  // namespace ridgeline
