// ridgeline/graph/pass/derived_casts.h
//
// Casts of parameters. Compilation turns them into derived forms, which the store keeps until the parameter changes
// (compile/run/parameter_store.h), each in the layout that its readers' kernels want, instead of a launch in every run.
// They take no planned memory.
#pragma once

#include <map>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// Result -> parameter or state. Only ops read such a result, none of them as a view.
std::map<ValueId, ValueId> derived_casts(const Graph& graph);

}  // namespace ridgeline
