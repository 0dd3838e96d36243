#include "ridgeline/graph/ir/verifier.h"

#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {
namespace {

[[noreturn]] void fail(const Graph& graph, const Node* node, const std::string& what) {
  std::string text = "[verify] graph @" + graph.name + ": ";
  if (node) {
    text += "node \"" + node->name + "\" (" + node->op + ")";
    if (!node->where.empty()) text += " at " + node->where.front().to_string();
    text += ": ";
  }
  throw Error(text + what);
}

void verify_node(const Graph& graph, const Node& node, const std::vector<bool>& defined) {
  const OpDef& def = op_def(node.op);
  std::vector<ValueType> inputs;
  for (ValueId id : node.inputs) {
    if (id < 0 || static_cast<std::size_t>(id) >= graph.values.size() || !defined[static_cast<std::size_t>(id)]) {
      fail(graph, &node, "uses a value before it is defined");
    }
    inputs.push_back(graph.value(id).type);
  }
  if (complete_attributes(def, node.attributes) != node.attributes) fail(graph, &node, "has incomplete attributes");
  std::vector<ValueType> results;
  if (def.has(kCall)) {
    const auto callee = graph.functions.find(node.attributes.string("function"));
    if (callee == graph.functions.end()) fail(graph, &node, "calls an unknown function");
    for (const Return& r : callee->second.returns) results.push_back(callee->second.value(r.value).type);
  } else {
    results = infer_types(def, inputs, node.attributes, node.name);
  }
  if (results.size() != node.outputs.size()) {
    fail(graph, &node,
         "has " + std::to_string(node.outputs.size()) + " results instead of " + std::to_string(results.size()));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ValueType& type = graph.value(node.outputs[i]).type;
    if (type != results[i]) {
      fail(graph, &node,
           "result " + std::to_string(i) + " is " + type.to_string() + " instead of " + results[i].to_string());
    }
  }
}

}  // namespace

void verify(const Graph& graph) {
  std::vector<bool> defined(graph.values.size(), false);
  const auto define = [&](ValueId id, const Node* node) {
    if (id < 0 || static_cast<std::size_t>(id) >= graph.values.size()) fail(graph, node, "defines an unknown value");
    if (defined[static_cast<std::size_t>(id)]) fail(graph, node, "defines a value twice");
    defined[static_cast<std::size_t>(id)] = true;
  };
  std::set<std::string> names;
  for (ValueId id : graph.arguments) {
    define(id, nullptr);
    if (!names.insert(graph.value(id).name).second) fail(graph, nullptr, "two arguments named " + graph.value(id).name);
  }
  std::set<std::string> node_names;
  std::vector<const Node*> overwritten(graph.values.size(), nullptr);  // by value: the op that replaced it in place
  for (const Node& node : graph.nodes) {
    verify_node(graph, node, defined);
    for (ValueId id : node.inputs) {
      if (const Node* by = overwritten[static_cast<std::size_t>(id)]) {
        fail(graph, &node, "reads " + graph.value(id).name + " after \"" + by->name + "\" has updated it");
      }
    }
    for (ValueId id : node.outputs) define(id, &node);
    if (!node_names.insert(node.name).second) fail(graph, &node, "has a name that is taken");
    if (op_def(node.op).has(kUpdate)) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        const ValueKind kind = graph.value(node.inputs[i]).kind;
        if (kind == ValueKind::param || kind == ValueKind::state)
          overwritten[static_cast<std::size_t>(node.inputs[i])] = &node;
      }
    }
  }
  std::set<ValueId> updated;
  for (const Update& update : graph.updates) {
    const ValueInfo& target = graph.value(update.current);
    if (target.kind != ValueKind::param && target.kind != ValueKind::state)
      fail(graph, nullptr, "updates no parameter or state");
    if (!defined[static_cast<std::size_t>(update.next)])
      fail(graph, nullptr, "updates " + target.name + " by an undefined value");
    if (graph.value(update.next).type != target.type)
      fail(graph, nullptr, "updates " + target.name + " by another type");
    if (!updated.insert(update.current).second) fail(graph, nullptr, "updates " + target.name + " twice");
  }
  for (const Return& r : graph.returns) {
    if (r.value < 0 || static_cast<std::size_t>(r.value) >= defined.size() ||
        !defined[static_cast<std::size_t>(r.value)]) {
      fail(graph, nullptr, "returns an undefined value");
    }
  }
  for (const auto& [name, function] : graph.functions) verify(function);
}

}  // namespace ridgeline
