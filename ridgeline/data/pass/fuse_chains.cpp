#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/pass/edit.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data {

DataGraph fuse_chains(DataGraph graph) {
  const std::vector<const Node*> chain = chain_of(graph);
  std::vector<std::pair<std::string, std::string>>
      pairs;  // {lower, upper}: upper's operations go to the end of lower's
  std::string lower;
  for (const Node* node : chain) {
    if (node->op != "map")
      lower.clear();
    else if (lower.empty())
      lower = node->id;
    else
      pairs.emplace_back(lower, node->id);
  }
  for (const auto& [into, from] : pairs) {
    const std::vector<Transform> operations = graph.node(from).operations;
    std::vector<Transform>& target = graph.node(into).operations;
    target.insert(target.end(), operations.begin(), operations.end());
    remove_node(graph, from);
  }
  return graph;
}

}  // namespace ridgeline::data
