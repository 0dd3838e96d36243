#include "ridgeline/compile/lower.h"

#include "ridgeline/compile/emit.h"
#include "ridgeline/compile/lanes.h"
#include "ridgeline/compile/rank_groups.h"
#include "ridgeline/compile/settle_layouts.h"
#include "ridgeline/compile/update_forms.h"

namespace ridgeline {
namespace {

std::string moved_line(const Placement& placement, const Target& target) {
  std::string names;
  for (const std::string& name : placement.moved) names += (names.empty() ? "" : ", ") + name;
  return "device " + std::string(target.device.name()) + " has no kernel for these ops, so they run on " +
         std::string(target.cpu.name()) + ": " + names;
}

}  // namespace

Lowering lower(Graph graph, const Target& target, ParameterStore& store, const NameSet& fused) {
  check_exchanges(graph);
  Placement placement = place(graph, target, fused);
  if (!placement.refused.empty()) return {{}, std::move(placement.refused)};
  const OpTeams teams = op_teams(graph, placement, target.lanes);
  ValueLayouts layouts(graph);
  std::vector<Choice> choices = settle_stored(graph, layouts, placement, target.log, store, teams);
  do {
    choices = choose_kernels(graph, layouts, placement, target.log, std::move(choices), teams);
  } while (take_back_layouts(graph, layouts, choices));
  if (auto refused = refused_fusions(graph, choices, fused); !refused.empty()) return {{}, std::move(refused)};
  std::vector<std::string> warnings = hot_references(graph, choices);
  for (std::string& line : emulations(graph, choices)) warnings.push_back(std::move(line));
  for (std::string& line : halved_products(choices)) warnings.push_back(std::move(line));
  if (!placement.moved.empty()) warnings.push_back(moved_line(placement, target));
  fix_homes(graph, layouts.groups(), store);
  std::string by_time = kernel_plan(choices);
  Plan plan = emit(std::move(graph), std::move(choices), teams, target, store);
  let_updates_write_forms(plan, target);
  find_sections(plan);
  plan.warnings = std::move(warnings);
  plan.kernel_plan = std::move(by_time);
  return {std::move(plan), {}};
}

}  // namespace ridgeline
