// ridgeline/compile/lower/lower.h
//
// From the final graph to launches, in four parts with a file each: place every op on a device, settle layouts and
// choose kernels (the first of the device's list that accepts), and emit launches with the copies and conversions that
// follow. Fixes the home layouts of parameters that no program has used before.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/compile/lower/plan.h"
#include "ridgeline/compile/lower/target.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

struct Lowering {
  Plan plan;                         // offsets are not planned yet; empty where something was refused
  std::vector<std::string> refused;  // fused ops that no kernel of their device takes but the reference
};

// `fused`: the ops, by name, that others were merged into. Where some are refused nothing in the store has changed, and
// the graph is to be made again with their parts apart.
// With Target::verify the plan is checked after each step (verify_plan.h).
Lowering lower(Graph graph, const Target& target, ParameterStore& store, const NameSet& fused);

// Those that it would refuse, without a plan: no exchange needs its ranks.
std::vector<std::string> refused_ops(const Graph& graph, const Target& target, ParameterStore& store,
                                     const NameSet& fused);

}  // namespace ridgeline
