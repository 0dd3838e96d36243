// ridgeline/compile/lower/settle_layouts.h
//
// Settles layouts before any launch exists, so that all launches agree. For stored values: homes that an earlier
// program has fixed come first, then for each group the preference of the first kernel that may choose. For
// activations: the choice of the kernel that makes one, if all readers accept it.
#pragma once

#include "ridgeline/compile/lower/choose_kernels.h"

namespace ridgeline {

// Declares the graph's parameters and states in the store and settles their groups. Returns the kernels that were
// chosen for this, by op; other entries are empty. Nothing in the store moves yet.
std::vector<Choice> settle_stored(const Graph& graph, ValueLayouts& layouts, const Placement& placement, Log& log,
                                  ParameterStore& store, const OpTeams& teams = {});

// Resets the layout of each activation that some reader does not accept: it is made in plain rows, and the choices of
// the ops around it are dropped. False if there was none, and all choices stay.
bool take_back_layouts(const Graph& graph, ValueLayouts& layouts, std::vector<Choice>& choices);

// Fixes the home of every parameter and state that the graph reads or updates: its group's layout, or plain. Homes that
// were fixed before stay.
void fix_homes(const Graph& graph, const LayoutGroups& groups, ParameterStore& store);

}  // namespace ridgeline
