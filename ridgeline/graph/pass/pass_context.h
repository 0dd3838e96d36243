// ridgeline/graph/pass/pass_context.h
//
// What a pass knows beside the graph, and what it leaves for compilation to know. Made by whoever runs the passes, one
// for a compilation.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ridgeline/graph/pass/fusion_limits.h"
#include "ridgeline/graph/pass/precision_policy.h"

namespace ridgeline {

using NameSet = std::set<std::string, std::less<>>;

struct PassContext {
  FusionLimits fusion;  // of the device that the graph is for
  NameSet keep_apart;   // ops, by name, into which nothing is merged: no kernel took what came of it
  NameSet fused;        // filled by the passes: ops, by name, into which others were merged
  PrecisionPolicy precision = {};
  // Whether the device has a kernel of the op that reads and writes values of this type; empty: it has.
  std::function<bool(std::string_view op, DType dtype)> takes = {};
  std::vector<std::string> warnings = {};  // filled by the passes: what the user asked for and nothing came of it
};

}  // namespace ridgeline
