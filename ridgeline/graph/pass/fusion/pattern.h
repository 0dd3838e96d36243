// ridgeline/graph/pass/fusion/pattern.h
//
// A fusion pattern: what is matched, what replaces the match, and what the device must support. One file for each
// pattern, listed in passes.cpp; one driver finds matches, asks the device and rewrites the graph. A pattern is a pass
// of its own and can be disabled by its name.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ridgeline/graph/pass/pass_context.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {

// The op at which the driver looks for a match; the graph does not change meanwhile.
struct FusionPlace {
  const Graph& graph;
  const ValueUses& uses;
  int at;

  const Node& node() const { return graph.nodes[static_cast<std::size_t>(at)]; }
  const ValueType& type(ValueId id) const { return graph.value(id).type; }
  // The op that makes the value, if it is of that kind (any, if empty) and only this op reads the value; else -1.
  int only_read_here(ValueId id, std::string_view op = {}) const;
};

// The replacement of a match. Indices are those before any change; the graph changes only if the device takes all of
// it.
struct Fusion {
  struct Changed {
    int at;
    Node node;  // in place of the op there
  };
  std::vector<Changed> changed;
  std::vector<int> gone;                            // ops that are dropped
  std::vector<std::pair<ValueId, ValueId>> reread;  // readers of the first value now read the second
  int moved_to = -1;                                // the only changed op moves to the place of this op; -1: it stays
  // Results that the graph does not have yet: the nodes of `changed` refer to them by ids from graph.values.size() on.
  std::vector<ValueInfo> values;
  std::optional<FusedForm> form;  // that the device's limits must take; empty: its kernels are asked
};

struct FusionPattern {
  std::string_view name;
  std::string_view doc;
  // Possible replacements at this op, the best first.
  std::vector<Fusion> (*match)(const FusionPlace&);
  // Ops only change places and none is merged: the device needs no kernels beyond those of the ops.
  bool exchanges = false;
};

Graph fuse(const FusionPattern& pattern, Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
