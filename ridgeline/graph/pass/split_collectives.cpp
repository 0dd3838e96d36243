#include "ridgeline/graph/pass/split_collectives.h"

#include <algorithm>
#include <map>

#include "ridgeline/graph/op/collective.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {
namespace {

bool whole_exchange(const Node& node) {
  const OpDef& def = op_def(node.op);
  return def.has(kCollective) && !def.has(kStart) && !def.has(kDone);
}

// The first node that reads the value; as many as there are nodes where none does.
std::size_t first_reader(const Graph& graph, ValueId id) {
  const auto reads = [&](const Node& node) {
    return std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end();
  };
  return static_cast<std::size_t>(std::find_if(graph.nodes.begin(), graph.nodes.end(), reads) - graph.nodes.begin());
}

}  // namespace

Graph split_collectives(Graph graph) {
  NameSet names;
  for (const Node& node : graph.nodes) names.insert(node.name);
  std::map<std::size_t, std::vector<Node>> dones;  // by the node that they stand in front of
  const std::size_t count = graph.nodes.size();
  for (std::size_t n = 0; n < count; ++n) {
    if (!whole_exchange(graph.nodes[n])) continue;
    const ValueId result = graph.nodes[n].outputs[0];
    const ValueType type = graph.value(result).type;
    const std::size_t reader = first_reader(graph, result);
    Node start = graph.nodes[n];
    start.attributes = start_attributes(graph.nodes[n]);
    start.op = "collective_start";
    std::vector<ValueType> operands;
    for (ValueId id : start.inputs) operands.push_back(graph.value(id).type);
    const ValueType pending = infer_types(op_def(start.op), operands, start.attributes, start.name).front();
    start.outputs = {graph.add_value({pending, graph.value(result).kind, ""})};
    Node done;
    done.op = "collective_done";
    done.name = add_unique(names, start.name + "/done");
    done.where = start.where;
    done.inputs = start.outputs;
    done.outputs = {result};
    done.attributes = done_attributes({&type, 1}, start.attributes.integer("ranks"));
    dones[reader].push_back(std::move(done));
    graph.nodes[n] = std::move(start);
  }
  std::vector<Node> nodes;
  for (std::size_t n = 0; n <= count; ++n) {
    for (Node& done : dones[n]) nodes.push_back(std::move(done));
    if (n < count) nodes.push_back(std::move(graph.nodes[n]));
  }
  graph.nodes = std::move(nodes);
  return graph;
}

}  // namespace ridgeline
