// ridgeline/compile/lower/lower.h
//
// Turns the final graph into launches, in four steps with a file each: place every op on a device, settle layouts,
// choose kernels (the first of the device's list that accepts), and emit launches with the necessary copies and
// conversions. Fixes the home layouts of parameters that no program has used before.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/compile/lower/plan.h"
#include "ridgeline/compile/lower/target.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

struct Lowering {
  Plan plan;                         // offsets are not planned yet; empty if something was refused
  std::vector<std::string> refused;  // fused ops that only the reference kernel of their device takes
};

// `fused`: names of the ops into which others were merged. If some are refused, nothing in the store has changed, and
// the graph must be made again with these ops unmerged.
// With Target::verify the plan is checked after each step (verify_plan.h).
Lowering lower(Graph graph, const Target& target, ParameterStore& store, const NameSet& fused);

// The ops that lower() would refuse, without making a plan: exchanges need no ranks.
std::vector<std::string> refused_ops(const Graph& graph, const Target& target, ParameterStore& store,
                                     const NameSet& fused);

}  // namespace ridgeline
