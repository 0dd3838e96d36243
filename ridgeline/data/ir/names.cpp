#include "ridgeline/data/ir/names.h"

#include <set>

namespace ridgeline::data {

void give_names(DataGraph& graph) {
  std::set<std::string> taken;
  for (const Node& node : graph.nodes) {
    taken.insert(node.name);
    for (const Transform& operation : node.operations) taken.insert(operation.name);
  }
  const auto give = [&](const std::string& op, std::string& name) {
    if (!name.empty()) return;
    name = op;
    for (int k = 1; taken.contains(name); ++k) name = op + "_" + std::to_string(k);
    taken.insert(name);
  };
  for (Node& node : graph.nodes) {
    give(node.op, node.name);
    for (Transform& operation : node.operations) give(operation.op, operation.name);
  }
}

}  // namespace ridgeline::data
