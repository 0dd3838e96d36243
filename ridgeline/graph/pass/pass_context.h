// ridgeline/graph/pass/pass_context.h
//
// What a pass knows beside the graph, and what it leaves for compilation to know. Made by whoever runs the passes, one
// for a compilation.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "ridgeline/graph/pass/fusion_limits.h"

namespace ridgeline {

using NameSet = std::set<std::string, std::less<>>;

struct PassContext {
  FusionLimits fusion;  // of the device that the graph is for
  NameSet keep_apart;   // ops, by name, into which nothing is merged: no kernel took what came of it
  NameSet fused;        // filled by the passes: ops, by name, into which others were merged
};

}  // namespace ridgeline
