#include "ridgeline/data/pass/edit.h"

#include <algorithm>

namespace ridgeline::data {
namespace {

void redirect(DataGraph& graph, const std::string& from, const std::string& to) {
  for (Node& node : graph.nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  std::replace(graph.outputs.begin(), graph.outputs.end(), from, to);
}

}  // namespace

void remove_node(DataGraph& graph, const std::string& id) {
  const std::string gone = id;  // `id` may live in the node
  const std::string input = graph.node(gone).inputs.at(0);
  redirect(graph, gone, input);
  std::erase_if(graph.nodes, [&](const Node& n) { return n.id == gone; });
}

void swap_with_input(DataGraph& graph, const std::string& id) {
  const std::string upper = id;  // NOLINT(performance-unnecessary-copy-initialization): `id` may live in the node
  const std::string lower = graph.node(upper).inputs.at(0);
  redirect(graph, upper, lower);  // readers of upper now read lower; lower's own inputs do not name upper
  graph.node(upper).inputs = graph.node(lower).inputs;
  graph.node(lower).inputs = {upper};
  const auto at = [&](const std::string& name) {
    return std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.id == name; });
  };
  std::iter_swap(at(upper), at(lower));  // keeps the topological order
}

}  // namespace ridgeline::data
