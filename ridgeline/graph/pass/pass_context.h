// ridgeline/graph/pass/pass_context.h
//
// What a pass knows beside the graph, and what it leaves for compilation to know. Made by whoever runs the passes, one
// for a compilation.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>

#include "ridgeline/graph/pass/fusion_limits.h"

namespace ridgeline {

using NameSet = std::set<std::string, std::less<>>;

// Bytes of intermediate values that are alive at one time, as the pass `recompute` counts them.
struct LiveBytes {
  std::size_t limit = 0;    // to be reached; 0: none
  std::size_t reached = 0;  // filled by the pass
  bool exhausted = false;   // filled by the pass: nothing that it can do gets to the limit
};

struct PassContext {
  FusionLimits fusion;  // of the device that the graph is for
  NameSet keep_apart;   // ops, by name, into which nothing is merged: no kernel took what came of it
  NameSet fused;        // filled by the passes: ops, by name, into which others were merged
  LiveBytes live;
};

}  // namespace ridgeline
