#include "ridgeline/compile/lower/value_layouts.h"

#include <algorithm>

namespace ridgeline {

ValueLayouts::ValueLayouts(const Graph& graph)
    : groups_(graph), made_(graph.values.size()), free_(graph.values.size(), false) {
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.inputs) free_[static_cast<std::size_t>(id)] = true;
  }
  const auto fix = [&](ValueId id) { free_[static_cast<std::size_t>(id)] = false; };
  for (const Node& node : graph.nodes) {
    if (op_def(node.op).has(kView)) fix(node.inputs[0]);  // it wants the bytes in row-major order
    if (!op_def(node.op).has(kCollective)) continue;      // all ranks must find the same bytes
    std::for_each(node.inputs.begin(), node.inputs.end(), fix);
    std::for_each(node.outputs.begin(), node.outputs.end(), fix);
  }
  for (ValueId id : graph.arguments) fix(id);
  for (const Update& update : graph.updates) fix(update.next);
  for (const Return& r : graph.returns) fix(r.value);
}

Layout ValueLayouts::layout(ValueId id) const {
  if (const auto& settled = groups_.layout(id)) return *settled;
  return made_[static_cast<std::size_t>(id)];
}

bool ValueLayouts::may_choose(const Node& node, ValueId id) const {
  return !op_def(node.op).has(kPointwise) && groups_.grouped(id) && !groups_.layout(id);
}

bool ValueLayouts::free_result(const Node& node, ValueId id) const {
  return free_[static_cast<std::size_t>(id)] && (!groups_.grouped(id) || may_choose(node, id));
}

void ValueLayouts::fix_plain(ValueId id) {
  free_[static_cast<std::size_t>(id)] = false;
  made_[static_cast<std::size_t>(id)] = Layout();
}

}  // namespace ridgeline
