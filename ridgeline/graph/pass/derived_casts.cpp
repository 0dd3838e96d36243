#include "ridgeline/graph/pass/derived_casts.h"

#include <algorithm>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

std::map<ValueId, ValueId> derived_casts(const Graph& graph) {
  const auto rounds = [&](const Node& node) {
    const DType from = graph.value(node.inputs[0]).type.dtype;
    const DType to = graph.value(node.outputs[0]).type.dtype;
    return is_floating(from) && is_floating(to) && size_of(to) < size_of(from);
  };
  std::map<ValueId, ValueId> casts;
  for (const Node& node : graph.nodes) {
    if (op_def(node.op).has(kCast) && is_stored(graph.value(node.inputs[0]).kind) && rounds(node)) {
      casts.emplace(node.outputs[0], node.inputs[0]);
    }
  }
  if (casts.empty()) return casts;
  for (const Node& node : graph.nodes) {
    if (op_def(node.op).has(kView)) casts.erase(node.inputs[0]);
  }
  for (const Update& update : graph.updates) casts.erase(update.next);
  for (const Return& r : graph.returns) casts.erase(r.value);
  return casts;
}

}  // namespace ridgeline
