#include "ridgeline/compile/lower.h"

#include "ridgeline/compile/emit.h"
#include "ridgeline/compile/settle_layouts.h"

namespace ridgeline {

Plan lower(Graph graph, Session& session, bool soft_placement) {
  LayoutGroups groups(graph);
  std::vector<Choice> choices = settle_layouts(graph, groups, session, soft_placement);
  choices = choose_kernels(graph, groups, session, soft_placement, std::move(choices));
  fix_homes(graph, groups, session.parameters());
  return emit(std::move(graph), std::move(choices), session);
}

}  // namespace ridgeline
