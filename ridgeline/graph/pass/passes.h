// ridgeline/graph/pass/passes.h
//
// The list of passes between the user's step graph and its kernels, in their order. Each takes a graph and a context
// and returns a graph with the same returned values and updates. A pass can be disabled by name, except those that
// compilation requires.
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
  bool fuses;  // merges or reorders ops for speed: what `fusion` switches
  std::string_view doc;
  bool loops = false;  // merges ops into loops, which the device must have a compiler for
};

std::span<const Pass> passes();

// The names of the passes that fuse, which `fusion` switches together.
std::vector<std::string> fusion_passes();

// An Error for a name that is not a pass, or that of a required one.
void check_disabled_passes(std::span<const std::string> disabled);

// Runs all passes except the disabled ones on a copy, and adds what they find out to `results`. `after` (if any) sees
// every graph with the pass that made it.
Graph run_passes(Graph graph, const PassContext& context, PassResults& results, std::span<const std::string> disabled,
                 const std::function<void(const Pass&, const Graph&)>& after = nullptr);

}  // namespace ridgeline
