// ridgeline/compile/lower/value_layouts.h
//
// The layout of each value of a graph, as far as it is known while kernels are chosen: stored values and values tied to
// them have their group's layout, others that of the kernel that makes them. Borrows the graph.
#pragma once

#include <vector>

#include "ridgeline/compile/lower/layout_groups.h"

namespace ridgeline {

class ValueLayouts {
 public:
  explicit ValueLayouts(const Graph& graph);

  LayoutGroups& groups() { return groups_; }
  const LayoutGroups& groups() const { return groups_; }
  Layout layout(ValueId id) const;
  // True for a stored value (or one computed from it elementwise) whose layout is not settled yet, if the op is not
  // pointwise: its kernel may choose the layout. Pointwise ops follow the others.
  bool may_choose(const Node& node, ValueId id) const;
  // True if this result of `node` may have any layout: only ops read it (no view, no caller, no update), it is not
  // fixed, and it is in no settled group.
  bool free_result(const Node& node, ValueId id) const;
  // The layout that an activation's kernel has chosen.
  void set_made(ValueId id, Layout layout) { made_[static_cast<std::size_t>(id)] = std::move(layout); }
  // True for an activation in a non-plain layout that its kernel has chosen.
  bool made_blocked(ValueId id) const { return !made_[static_cast<std::size_t>(id)].plain(); }
  // The activation is made in plain rows from now on.
  void fix_plain(ValueId id);

 private:
  LayoutGroups groups_;
  std::vector<Layout> made_;
  std::vector<bool> free_;  // results that may have any layout
};

}  // namespace ridgeline
