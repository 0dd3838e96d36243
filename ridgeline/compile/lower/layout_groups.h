// ridgeline/compile/lower/layout_groups.h
//
// Which values should share one physical layout: a parameter, its gradient, its slots and their next versions, that is,
// all values that are connected by pointwise ops of the parameter's shape. The forward pass settles the layout of the
// group, the gradient kernels then write it directly, and the update streams through memory without a conversion.
#pragma once

#include <optional>
#include <vector>

#include "ridgeline/device/layout.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

class LayoutGroups {
 public:
  explicit LayoutGroups(const Graph& graph);
  // True for values of a group that has a parameter or state in it; others are always plain.
  bool grouped(ValueId id) const { return has_argument_[root(id)]; }
  // The group's layout, once settled.
  const std::optional<Layout>& layout(ValueId id) const { return layouts_[root(id)]; }
  void settle(ValueId id, Layout layout) { layouts_[root(id)] = std::move(layout); }
  bool same(ValueId a, ValueId b) const { return root(a) == root(b); }

 private:
  std::size_t root(ValueId id) const;
  void join(ValueId a, ValueId b);
  std::vector<std::size_t> parent_;
  std::vector<bool> has_argument_;
  std::vector<std::optional<Layout>> layouts_;
};

}  // namespace ridgeline
