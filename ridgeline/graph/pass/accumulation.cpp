#include "ridgeline/graph/pass/accumulation.h"

#include <algorithm>

namespace ridgeline {

Value accumulate(GraphBuilder& builder, const Value& state, const Value& x, const Value& last) {
  const Value sum = state + x;
  builder.update(state, builder.apply("select", {last, builder.constant(0), sum}));
  return sum;
}

std::vector<Accumulation> accumulations(const Graph& graph) {
  const std::vector<int> producer = producers(graph);
  const auto made_by = [&](ValueId id, std::string_view op) -> const Node* {
    const int n = producer[static_cast<std::size_t>(id)];
    return n >= 0 && graph.nodes[static_cast<std::size_t>(n)].op == op ? &graph.nodes[static_cast<std::size_t>(n)]
                                                                       : nullptr;
  };
  std::vector<Accumulation> found;
  for (const Update& update : graph.updates) {
    const Node* const next = made_by(update.next, "select");
    if (next == nullptr || made_by(next->inputs[1], "constant") == nullptr) continue;
    const Node* const sum = made_by(next->inputs[2], "add");
    if (sum == nullptr) continue;
    if (std::find(sum->inputs.begin(), sum->inputs.end(), update.current) == sum->inputs.end()) continue;
    found.push_back({update.current, next->inputs[2], next->inputs[0]});
  }
  return found;
}

}  // namespace ridgeline
