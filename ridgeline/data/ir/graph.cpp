#include "ridgeline/data/ir/graph.h"

#include <algorithm>
#include <set>

#include "ridgeline/data/ir/names.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/source/source.h"

namespace ridgeline::data {

bool operator==(const Node& a, const Node& b) {
  return a.id == b.id && a.op == b.op && a.inputs == b.inputs && a.args == b.args && a.operations == b.operations &&
         a.name == b.name && a.hints == b.hints;
}

const std::string& DataGraph::add(Node node) {
  complete(node);
  if (node.id.empty()) {
    std::set<std::string> taken;
    for (const Node& other : nodes) taken.insert(other.id);
    std::size_t number = nodes.size();
    do node.id = node.op + "_" + std::to_string(number++);
    while (taken.contains(node.id));
  }
  if (node_entry(node.op).kind == NodeKind::source && !node.source) node.source = std::make_shared<SourceHandle>();
  nodes.push_back(std::move(node));
  give_names(*this);
  outputs = {nodes.back().id};
  return nodes.back().id;
}

const Node& DataGraph::node(const std::string& id) const {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.id == id; });
  if (found == nodes.end()) throw Error("the data graph has no node '" + id + "'");
  return *found;
}

Node& DataGraph::node(const std::string& id) {
  return const_cast<Node&>(static_cast<const DataGraph&>(*this).node(id));
}

const Node& DataGraph::output() const {
  if (outputs.size() != 1)
    throw Error("a data graph must have one output, this one has " + std::to_string(outputs.size()));
  return node(outputs[0]);
}

}  // namespace ridgeline::data
