// ridgeline/compile/lower/choose_kernels.h
//
// Which kernel runs an op: the first entry of its device's ordered list that accepts the node with its operands'
// layouts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ridgeline/compile/lower/place.h"
#include "ridgeline/compile/lower/side_by_side.h"
#include "ridgeline/compile/lower/value_layouts.h"

namespace ridgeline {

struct Choice {
  Device* device = nullptr;
  std::unique_ptr<Kernel> kernel;  // null: a view of memory that another op wrote, nothing to run
  std::string fallback;            // of a reference kernel: why the kernels before it refused, if there were any
  std::string by_time;             // of a kernel chosen by time: the choice, for the hash of all choices
  // The layout of operand or result i.
  Layout input_layout(std::size_t i) const {
    return kernel->input_layouts.empty() ? Layout{} : kernel->input_layouts[i];
  }
  Layout output_layout(std::size_t i) const {
    return kernel->output_layouts.empty() ? Layout{} : kernel->output_layouts[i];
  }
};

// An op that no kernel takes is an Error with every refusal and its reason.
Choice choose_kernel(const Graph& graph, const Node& node, const ValueLayouts& layouts, Device& device, Log& log);

// One for each op of the graph. `choices` holds those made already (others are empty); a choice is repeated if an
// operand is not in plain rows after all. Writes the layout that each activation's kernel makes into `layouts`.
std::vector<Choice> choose_kernels(const Graph& graph, ValueLayouts& layouts, const Placement& placement, Log& log,
                                   std::vector<Choice> choices, const OpTeams& teams = {});

// The ops of `fused` that got the reference kernel although their device has others for the op: unmerged they may be
// faster.
std::vector<std::string> refused_fusions(const Graph& graph, const std::vector<Choice>& choices, const NameSet& fused);

// A line if ops on bf16 or f16 run on kernels of another type, else none.
std::vector<std::string> emulations(const Graph& graph, const std::vector<Choice>& choices);

// A line for each remark of kernels (Kernel::remark), with the number of kernels that make it.
std::vector<std::string> remarks(const std::vector<Choice>& choices);

// A hash of the kernels that were chosen by time (device/kernel_tuner.h); empty if none were.
std::string kernel_plan(const std::vector<Choice>& choices);

// A line for each expensive op that got the reference kernel, with the reasons.
std::vector<std::string> hot_references(const Graph& graph, const std::vector<Choice>& choices);

}  // namespace ridgeline
