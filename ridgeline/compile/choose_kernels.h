// ridgeline/compile/choose_kernels.h
//
// Which device and which kernel run an op: the first entry of the device's ordered list that accepts the node in the
// layouts that its operands have by then. With soft placement an op that the session's device refuses goes to the CPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ridgeline/compile/layout_groups.h"
#include "ridgeline/compile/session.h"

namespace ridgeline {

struct Choice {
  Device* device = nullptr;
  std::unique_ptr<Kernel> kernel;  // null: a view of memory that another op wrote, nothing to run
  // The layout of operand or result i.
  Layout input_layout(std::size_t i) const {
    return kernel->input_layouts.empty() ? Layout{} : kernel->input_layouts[i];
  }
  Layout output_layout(std::size_t i) const {
    return kernel->output_layouts.empty() ? Layout{} : kernel->output_layouts[i];
  }
};

// True for a stored value (or one computed from it element by element) whose layout nobody has settled yet, where the
// op is not pointwise: its kernel may choose the layout. Pointwise ops follow the others.
bool may_choose_layout(const Node& node, ValueId id, const LayoutGroups& groups);

// An op that no kernel takes is an Error with every refusal and its reason.
Choice choose_kernel(const Graph& graph, const Node& node, const LayoutGroups& groups, Session& session,
                     bool soft_placement);

// One for each op of the graph. `settled` holds the choices that settle_layouts() has made already (others are empty).
std::vector<Choice> choose_kernels(const Graph& graph, const LayoutGroups& groups, Session& session,
                                   bool soft_placement, std::vector<Choice> settled);

}  // namespace ridgeline
