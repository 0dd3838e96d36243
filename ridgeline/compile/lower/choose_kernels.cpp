#include "ridgeline/compile/lower/choose_kernels.h"

#include <algorithm>
#include <map>
#include <set>

#include "ridgeline/compile/lower/first_accepting.h"
#include "ridgeline/device/kernel_tuner.h"
#include "ridgeline/graph/op/collective.h"

namespace ridgeline {
namespace {

// An amount of work that takes a reference some milliseconds: it computes element by element, in double.
constexpr double kHotFlops = 1e6;
constexpr double kHotBytes = 4e6;

KernelRequest request_of(const Graph& graph, const Node& node, const ValueLayouts& layouts) {
  KernelRequest request{op_def(node.op), node, {}, {}};
  for (ValueId id : node.inputs) {
    request.inputs.push_back({graph.value(id).type, layouts.layout(id), layouts.may_choose(node, id)});
  }
  for (ValueId id : node.outputs) {
    // An activation's earlier choice does not bind its kernel.
    const Layout wish = layouts.groups().layout(id).value_or(Layout{});
    request.outputs.push_back({graph.value(id).type, wish, layouts.free_result(node, id)});
  }
  return request;
}

// Waits for an exchange, or begins one that reads memory in place.
bool runs_no_kernel(const Node& node) {
  const OpDef& def = op_def(node.op);
  return def.has(kDone) || (def.has(kStart) && !collective_rule(node).packed);
}

}  // namespace

Choice choose_kernel(const Graph& graph, const Node& node, const ValueLayouts& layouts, Device& device, Log& log) {
  Accepted accepted = best_accepting(request_of(graph, node, layouts), device, log);
  if (!accepted.kernel) throw no_kernel(graph, node, device, accepted);
  Choice choice{&device, std::move(accepted.kernel), {}, std::move(accepted.by_time)};
  if (accepted.provider == Provider::reference) choice.fallback = accepted.refusals;
  for (const Layout& layout : choice.kernel->output_layouts) {
    RIDGELINE_CHECK(!layout.one_way(), choice.kernel->name + " gives a result in a one-way layout");
  }
  return choice;
}

std::vector<Choice> choose_kernels(const Graph& graph, ValueLayouts& layouts, const Placement& placement, Log& log,
                                   std::vector<Choice> choices, const OpTeams& teams) {
  choices.resize(graph.nodes.size());
  // Values in the program's own memory as plain rows: a view of one needs no launch.
  std::vector<bool> plain_rows(graph.values.size(), false);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    Choice& choice = choices[n];
    if (op_def(node.op).has(kView) && plain_rows[static_cast<std::size_t>(node.inputs[0])]) {
      choice.kernel.reset();
      choice.by_time.clear();
      plain_rows[static_cast<std::size_t>(node.outputs[0])] = true;
      continue;
    }
    if (runs_no_kernel(node)) {
      choice = {placement.devices[n], nullptr, {}, {}};
      continue;
    }
    const auto blocked = [&](ValueId id) { return layouts.made_blocked(id); };
    if (!choice.kernel || std::any_of(node.inputs.begin(), node.inputs.end(), blocked)) {
      const ComputeScope team(teams.of(n));
      choice = choose_kernel(graph, node, layouts, *placement.devices[n], log);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const Layout layout = choice.output_layout(i);
      plain_rows[static_cast<std::size_t>(node.outputs[i])] = layout.plain();
      if (layouts.free_result(node, node.outputs[i])) layouts.set_made(node.outputs[i], layout);
    }
  }
  return choices;
}

std::vector<std::string> refused_fusions(const Graph& graph, const std::vector<Choice>& choices, const NameSet& fused) {
  std::vector<std::string> refused;
  for (std::size_t n = 0; n < choices.size(); ++n) {
    const std::string& name = graph.nodes[n].name;
    if (!choices[n].fallback.empty() && fused.contains(name)) refused.push_back(name);
  }
  return refused;
}

std::vector<std::string> emulations(const Graph& graph, const std::vector<Choice>& choices) {
  std::set<std::string> ops;
  DTypeSet types;
  std::size_t count = 0;
  for (std::size_t n = 0; n < choices.size(); ++n) {
    if (!choices[n].kernel || !choices[n].kernel->emulates) continue;
    const Node& node = graph.nodes[n];
    ops.insert(node.op);
    ++count;
    for (ValueId id : node.inputs) {
      const DType dtype = graph.value(id).type.dtype;
      if (dtype == DType::bf16 || dtype == DType::f16) types.insert(dtype);
    }
  }
  if (count == 0) return {};
  std::string names;
  for (const std::string& op : ops) names += (names.empty() ? "" : ", ") + op;
  return {std::to_string(count) + " ops on " + types.to_string() +
          " compute in f32 between conversions (the values are exact, the time is that of f32 and more): " + names};
}

std::vector<std::string> remarks(const std::vector<Choice>& choices) {
  std::map<std::string_view, int> counts;
  for (const Choice& choice : choices) {
    if (choice.kernel && !choice.kernel->remark.empty()) ++counts[choice.kernel->remark];
  }
  std::vector<std::string> lines;
  for (const auto& [remark, count] : counts) lines.push_back(std::to_string(count) + " " + std::string(remark));
  return lines;
}

std::string kernel_plan(const std::vector<Choice>& choices) {
  std::vector<std::string> by_time;
  for (const Choice& choice : choices) {
    if (!choice.by_time.empty()) by_time.push_back(choice.by_time);
  }
  return KernelTuner::plan_of(std::move(by_time));
}

std::vector<std::string> hot_references(const Graph& graph, const std::vector<Choice>& choices) {
  std::vector<std::string> lines;
  for (std::size_t n = 0; n < choices.size(); ++n) {
    if (choices[n].fallback.empty()) continue;
    const Node& node = graph.nodes[n];
    const Cost cost = cost_of(graph, node);
    if (cost.flops < kHotFlops && cost.bytes < kHotBytes) continue;
    lines.push_back("op " + node.name + " (" + node.op + ") runs on the slow reference kernel: " + choices[n].fallback);
  }
  return lines;
}

}  // namespace ridgeline
