// ridgeline/compile/lower/choose_kernels.h
//
// Which kernel runs an op: the first entry of its device's ordered list that accepts the node in the layouts that its
// operands have by then.
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
  std::string fallback;            // of a reference kernel: why those before it refused, if there were any
  std::string by_time;             // of a kernel chosen by time: the choice, for the hash of them all
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

// One for each op of the graph. `choices` holds those that are made already (others are empty); one is made anew where
// an operand turns out to lie otherwise than in plain rows. Writes into `layouts` what each activation's kernel makes.
std::vector<Choice> choose_kernels(const Graph& graph, ValueLayouts& layouts, const Placement& placement, Log& log,
                                   std::vector<Choice> choices, const OpTeams& teams = {});

// The ops of `fused` that fell to the reference although their device has other kernels for them: their parts alone may
// do better.
std::vector<std::string> refused_fusions(const Graph& graph, const std::vector<Choice>& choices, const NameSet& fused);

// A line where ops on bf16 or f16 run on kernels of another type, or none.
std::vector<std::string> emulations(const Graph& graph, const std::vector<Choice>& choices);

// A line for each remark of kernels (Kernel::remark), with how many of them make it.
std::vector<std::string> remarks(const std::vector<Choice>& choices);

// A hash of what was chosen by time (device/kernel_tuner.h); empty where nothing was.
std::string kernel_plan(const std::vector<Choice>& choices);

// A line for each op of much work that fell to the reference, with the reasons.
std::vector<std::string> hot_references(const Graph& graph, const std::vector<Choice>& choices);

}  // namespace ridgeline
