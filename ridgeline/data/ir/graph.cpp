#include "ridgeline/data/ir/graph.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>

#include "ridgeline/data/ir/names.h"
#include "ridgeline/data/ir/registry.h"

namespace ridgeline::data {

bool operator==(const Transform& a, const Transform& b) {
  return a.op == b.op && a.args == b.args && a.name == b.name && a.operations == b.operations;
}

bool operator==(const Node& a, const Node& b) {
  return a.id == b.id && a.op == b.op && a.inputs == b.inputs && a.args == b.args && a.operations == b.operations &&
         a.name == b.name && a.hints == b.hints;
}

namespace {

std::string free_id(const DataGraph& graph, const std::string& op) {
  std::set<std::string> taken;
  for (const Node& other : graph.nodes) taken.insert(other.id);
  for (std::size_t number = graph.nodes.size();; ++number) {
    if (std::string id = op + "_" + std::to_string(number); !taken.contains(id)) return id;
  }
}

void collect_names(const std::vector<Transform>& operations, std::set<std::string>& names) {
  for (const Transform& operation : operations) {
    names.insert(operation.name);
    collect_names(operation.operations, names);
  }
}

void clear_taken(std::vector<Transform>& operations, const std::set<std::string>& names) {
  for (Transform& operation : operations) {
    if (names.contains(operation.name)) operation.name.clear();
    clear_taken(operation.operations, names);
  }
}

// Ignoring names, which absorb() replaces where they are taken.
bool same_operations(const std::vector<Transform>& a, const std::vector<Transform>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Transform& x, const Transform& y) {
    return x.op == y.op && x.args == y.args && same_operations(x.operations, y.operations);
  });
}

// Whether both are the same node of two graphs: made by one call, and unchanged since.
bool same_node(const Node& a, const Node& b) {
  return a.origin != 0 && a.origin == b.origin && a.op == b.op && a.inputs == b.inputs && a.args == b.args &&
         same_operations(a.operations, b.operations);
}

std::uint64_t next_origin() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// Callbacks see no samples: a node that has them in one graph only is the same node.
using Callbacks = std::vector<std::shared_ptr<DataCallback>>;
void add_callbacks(const Callbacks& from, Callbacks& to) {
  for (const std::shared_ptr<DataCallback>& callback : from) {
    if (std::find(to.begin(), to.end(), callback) == to.end()) to.push_back(callback);
  }
}

}  // namespace

const std::string& DataGraph::add(Node node) {
  complete(node);
  if (node.id.empty()) node.id = free_id(*this, node.op);
  if (node.origin == 0) node.origin = next_origin();
  if (node_entry(node.op).kind == NodeKind::source && !node.source) node.source = node_entry(node.op).handle(nullptr);
  nodes.push_back(std::move(node));
  give_names(*this);
  outputs = {nodes.back().id};
  return nodes.back().id;
}

std::string DataGraph::absorb(const DataGraph& other) {
  std::map<std::string, std::string> here;  // ids
  std::set<std::string> names;
  for (const Node& node : nodes) {
    names.insert(node.name);
    collect_names(node.operations, names);
  }
  for (Node node : other.nodes) {
    for (std::string& input : node.inputs) input = here.at(input);
    const auto known = std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) { return same_node(n, node); });
    if (known != nodes.end()) {
      here[node.id] = known->id;
      add_callbacks(node.callbacks, known->callbacks);
      continue;
    }
    const std::string id = node.id;
    const bool taken = std::any_of(nodes.begin(), nodes.end(), [&](const Node& n) { return n.id == id; });
    if (taken) node.id = free_id(*this, node.op);
    here[id] = node.id;
    if (names.contains(node.name)) node.name.clear();
    clear_taken(node.operations, names);
    nodes.push_back(std::move(node));
  }
  give_names(*this);
  return here.at(other.output().id);
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
