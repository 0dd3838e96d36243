// ridgeline/compile/lower/value_layouts.h
//
// How each value of a graph lies in memory, as far as that is known while kernels are chosen: stored values and what
// follows them by their groups, the rest by the kernel that makes it. Borrows the graph.
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
  // True for a stored value (or one computed from it element by element) whose layout nobody has settled yet, where the
  // op is not pointwise: its kernel may choose the layout. Pointwise ops follow the others.
  bool may_choose(const Node& node, ValueId id) const;
  // True when any layout of this result of `node` will do: ops alone read it (no view, no caller, no update), it is not
  // fixed, and no settled group holds it.
  bool free_result(const Node& node, ValueId id) const;
  // What the kernel that makes an activation has chosen.
  void set_made(ValueId id, Layout layout) { made_[static_cast<std::size_t>(id)] = std::move(layout); }
  // True for an activation in a layout that its kernel has chosen.
  bool made_blocked(ValueId id) const { return !made_[static_cast<std::size_t>(id)].plain(); }
  // The activation is made in plain rows from now on.
  void fix_plain(ValueId id);

 private:
  LayoutGroups groups_;
  std::vector<Layout> made_;
  std::vector<bool> free_;  // results that may have any layout
};

}  // namespace ridgeline
