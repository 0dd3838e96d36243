// ridgeline/graph/pass/fusion/pattern.h
//
// A fused form: what is matched, what becomes of it, and what the device must take. One file a pattern, listed in
// passes.cpp; one driver finds them, asks the device and rewrites the graph. A pattern is a pass of its own, which is
// left out by its name.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ridgeline/graph/pass/pass_context.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {

// Where the driver looks: at one op of a graph that no pass changes meanwhile.
struct FusionPlace {
  const Graph& graph;
  const ValueUses& uses;
  int at;

  const Node& node() const { return graph.nodes[static_cast<std::size_t>(at)]; }
  const ValueType& type(ValueId id) const { return graph.value(id).type; }
  // The op that makes the value, where it is of that kind (any, if empty) and nobody else reads the value; else -1.
  int only_read_here(ValueId id, std::string_view op = {}) const;
};

// What becomes of a match. Indices are of ops as they were; the graph changes only if the device takes all of it.
struct Fusion {
  struct Changed {
    int at;
    Node node;  // in place of the op there
  };
  std::vector<Changed> changed;
  std::vector<int> gone;                            // ops that are dropped
  std::vector<std::pair<ValueId, ValueId>> reread;  // readers of the first read the second
  int moved_to = -1;  // the place of the op that was there: the (only) changed op moves to it; -1: it stays
  // Results that the graph does not have yet: those of `changed` name them by graph.values.size() and upwards.
  std::vector<ValueInfo> values;
  std::optional<FusedForm> form;  // that the device's limits must take; where nothing is said its kernels are asked
};

struct FusionPattern {
  std::string_view name;
  std::string_view doc;
  // What may be done at this op, the best first; empty: nothing.
  std::vector<Fusion> (*match)(const FusionPlace&);
  // Ops change places and none is merged into another: the device needs kernels of them as they are.
  bool exchanges = false;
};

Graph fuse(const FusionPattern& pattern, Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
