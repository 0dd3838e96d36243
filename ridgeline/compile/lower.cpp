#include "ridgeline/compile/lower.h"

#include "ridgeline/compile/emit.h"
#include "ridgeline/compile/settle_layouts.h"

namespace ridgeline {

Lowering lower(Graph graph, const Target& target, ParameterStore& store, const NameSet& fused) {
  Placement placement = place(graph, target, fused);
  if (!placement.refused.empty()) return {{}, std::move(placement.refused)};
  ValueLayouts layouts(graph);
  std::vector<Choice> choices = settle_stored(graph, layouts, placement, target.log, store);
  do {
    choices = choose_kernels(graph, layouts, placement, target.log, std::move(choices));
  } while (take_back_layouts(graph, layouts, choices));
  if (auto refused = refused_fusions(graph, choices, fused); !refused.empty()) return {{}, std::move(refused)};
  for (const std::string& line : hot_references(graph, choices)) target.log.warning(line);
  fix_homes(graph, layouts.groups(), store);
  return {emit(std::move(graph), std::move(choices), target, store), {}};
}

}  // namespace ridgeline
