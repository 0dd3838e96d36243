#include "ridgeline/data/pass/tail.h"

#include "ridgeline/data/ir/analysis.h"

namespace ridgeline::data {

Node* last_map(DataGraph& graph) {
  std::string last;
  for (const Node* node : chain_of(graph)) {
    if (node->op == "map") last = node->id;
  }
  return last.empty() ? nullptr : &graph.node(last);
}

Tail cut_tail(DataGraph& graph) {
  std::vector<std::string> maps;
  for (const Node* node : chain_of(graph)) {
    if (node->op == "map") maps.push_back(node->id);
  }
  Tail tail;
  for (auto id = maps.rbegin(); id != maps.rend(); ++id) {
    std::vector<Transform>& operations = graph.node(*id).operations;
    while (!operations.empty()) {
      Transform& last = operations.back();
      std::optional<Transform>* place = last.op == "random_horizontal_flip" ? &tail.flip
                                        : last.op == "normalize"            ? &tail.normalize
                                                                            : nullptr;
      if (!place || place->has_value()) return tail;
      *place = std::move(last);
      operations.pop_back();
    }
  }
  return tail;
}

}  // namespace ridgeline::data
