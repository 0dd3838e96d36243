#include "ridgeline/compile/lower/lower.h"

#include <optional>

#include "ridgeline/compile/lower/emit.h"
#include "ridgeline/compile/lower/lanes.h"
#include "ridgeline/compile/lower/rank_groups.h"
#include "ridgeline/compile/lower/settle_layouts.h"
#include "ridgeline/compile/lower/update_forms.h"
#include "ridgeline/compile/lower/verify_plan.h"

namespace ridgeline {
namespace {

std::string moved_line(const Placement& placement, const Target& target) {
  std::string names;
  for (const std::string& name : placement.moved) names += (names.empty() ? "" : ", ") + name;
  return "device " + std::string(target.device.name()) + " has no kernel for these ops, so they run on " +
         std::string(target.cpu.name()) + ": " + names;
}

// What is decided before any launch exists; only `refused` where fused ops must be split first.
struct Settled {
  Placement placement;
  OpTeams teams;
  std::optional<ValueLayouts> layouts;
  std::vector<Choice> choices;
  std::vector<std::string> refused;
};

Settled settle(const Graph& graph, const Target& target, ParameterStore& store, const NameSet& fused) {
  check_exchanges(graph);
  Settled settled;
  settled.placement = place(graph, target, fused);
  if (!settled.placement.refused.empty()) {
    settled.refused = std::move(settled.placement.refused);
    return settled;
  }
  settled.teams = op_teams(graph, settled.placement, target.lanes);
  ValueLayouts& layouts = settled.layouts.emplace(graph);
  std::vector<Choice> choices = settle_stored(graph, layouts, settled.placement, target.log, store, settled.teams);
  do {
    choices = choose_kernels(graph, layouts, settled.placement, target.log, std::move(choices), settled.teams);
  } while (take_back_layouts(graph, layouts, choices));
  settled.refused = refused_fusions(graph, choices, fused);
  settled.choices = std::move(choices);
  return settled;
}

}  // namespace

std::vector<std::string> refused_ops(const Graph& graph, const Target& target, ParameterStore& store,
                                     const NameSet& fused) {
  return settle(graph, target, store, fused).refused;
}

Lowering lower(Graph graph, const Target& target, ParameterStore& store, const NameSet& fused) {
  Settled settled = settle(graph, target, store, fused);
  if (!settled.refused.empty()) return {{}, std::move(settled.refused)};
  std::vector<std::string> warnings = hot_references(graph, settled.choices);
  for (std::string& line : emulations(graph, settled.choices)) warnings.push_back(std::move(line));
  for (std::string& line : remarks(settled.choices)) warnings.push_back(std::move(line));
  if (!settled.placement.moved.empty()) warnings.push_back(moved_line(settled.placement, target));
  fix_homes(graph, settled.layouts->groups(), store);
  std::string by_time = kernel_plan(settled.choices);
  const auto verified = [&](const Plan& plan) {
    if (target.verify) verify(plan, PlanStage::launches);
  };
  Plan plan = emit(std::move(graph), std::move(settled.choices), settled.teams, target, store);
  verified(plan);
  let_updates_write_forms(plan, target);
  verified(plan);
  find_sections(plan);
  verified(plan);
  plan.warnings = std::move(warnings);
  plan.kernel_plan = std::move(by_time);
  return {std::move(plan), {}};
}

}  // namespace ridgeline
