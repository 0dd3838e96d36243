// ridgeline/graph/pass/passes.h
//
// The page of passes between the user's step graph and its kernels, in their order. Each takes a graph and a context
// and returns another graph with the same returned values and updates. A pass can be left out by name, except for those
// that compilation cannot do without (required).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

struct Pass {
  std::string_view name;
  Graph (*run)(Graph, const PassContext&, PassResults&);
  bool required;
  bool fuses;  // merges or exchanges ops for speed: what `fusion` switches
  std::string_view doc;
  bool loops = false;  // merges ops into loops, which the device must have a compiler for
};

std::span<const Pass> passes();

// The names of the passes that fuse; what `fusion` switches as a whole.
std::vector<std::string> fusion_passes();

// An Error for a name that is no pass, or that of a required one.
void check_disabled_passes(std::span<const std::string> disabled);

// Runs all passes but the disabled ones on a copy, and adds what they find out to `results`. `after` (if any) sees
// every graph with the pass that made it.
Graph run_passes(Graph graph, const PassContext& context, PassResults& results, std::span<const std::string> disabled,
                 const std::function<void(const Pass&, const Graph&)>& after = nullptr);

}  // namespace ridgeline
