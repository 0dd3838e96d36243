// ridgeline/compile/count_fusions.h
//
// What each pass that merges ops did to a graph: for reports about a compilation.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "ridgeline/compile/compile.h"

namespace ridgeline {

struct FusionCount {
  std::string_view pass;
  std::size_t matched = 0;    // ops that it merged into others
  std::size_t effective = 0;  // those of them that stayed merged, because a kernel took the merged op
};

// In the order of the passes; disabled passes have no row. Errors as compile().
std::vector<FusionCount> count_fusions(const Graph& graph, Session& session, const CompileOptions& options = {});

}  // namespace ridgeline
