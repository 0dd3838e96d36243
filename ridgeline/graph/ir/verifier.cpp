#include "ridgeline/graph/ir/verifier.h"

#include <set>

#include "ridgeline/graph/ir/node_error.h"
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
  if (node) throw NodeError(text + what, graph.name, node->name);
  throw Error(text + what);
}

std::vector<ValueType> types_of_call(const Graph& graph, const Node& node, std::span<const ValueType> inputs) {
  const auto found = graph.functions.find(node.attributes.string("function"));
  if (found == graph.functions.end()) fail(graph, &node, "calls an unknown function");
  const Graph& callee = found->second;
  if (callee.arguments.size() != inputs.size()) {
    fail(graph, &node,
         "calls function @" + found->first + " of " + std::to_string(callee.arguments.size()) + " arguments with " +
             std::to_string(inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueInfo& parameter = callee.value(callee.arguments[i]);
    if (parameter.type != inputs[i]) {
      fail(graph, &node,
           "gives " + inputs[i].to_string() + " as argument " + parameter.name + " of function @" + found->first +
               ", which is " + parameter.type.to_string());
    }
  }
  std::vector<ValueType> results;
  for (const Return& r : callee.returns) results.push_back(callee.value(r.value).type);
  return results;
}

std::vector<ValueType> types_of(const Graph& graph, const Node& node, const OpDef& def,
                                std::span<const ValueType> inputs) {
  try {
    if (complete_attributes(def, node.attributes) != node.attributes) fail(graph, &node, "has incomplete attributes");
    if (def.has(kCall)) return types_of_call(graph, node, inputs);
    return infer_types(def, inputs, node.attributes, node.name);
  } catch (const NodeError&) {
    throw;
  } catch (const Error& error) {
    fail(graph, &node, error.what());
  }
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
  const std::vector<ValueType> results = types_of(graph, node, def, inputs);
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
    const ValueKind kind = graph.value(id).kind;
    if (kind == ValueKind::grad || kind == ValueKind::activation)
      fail(graph, nullptr, "argument " + graph.value(id).name + " is neither input, param nor state");
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
    for (ValueId id : node.outputs) {
      define(id, &node);
      const ValueKind kind = graph.value(id).kind;
      if (kind == ValueKind::input || is_stored(kind))
        fail(graph, &node, "has a result of kind " + std::string(name_of(kind)) + ", which only arguments are");
    }
    if (!node_names.insert(node.name).second) fail(graph, &node, "has a name that is taken");
    if (op_def(node.op).has(kUpdate)) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (is_stored(graph.value(node.inputs[i]).kind)) overwritten[static_cast<std::size_t>(node.inputs[i])] = &node;
      }
    }
  }
  const auto is_defined = [&](ValueId id) {
    return id >= 0 && static_cast<std::size_t>(id) < defined.size() && defined[static_cast<std::size_t>(id)];
  };
  std::set<ValueId> updated;
  for (const Update& update : graph.updates) {
    if (!is_defined(update.current) || !is_stored(graph.value(update.current).kind))
      fail(graph, nullptr, "updates no parameter or state");
    const ValueInfo& target = graph.value(update.current);
    if (!is_defined(update.next)) fail(graph, nullptr, "updates " + target.name + " by an undefined value");
    if (graph.value(update.next).type != target.type)
      fail(graph, nullptr, "updates " + target.name + " by another type");
    if (!updated.insert(update.current).second) fail(graph, nullptr, "updates " + target.name + " twice");
  }
  for (const Return& r : graph.returns) {
    if (!is_defined(r.value)) fail(graph, nullptr, "returns an undefined value");
  }
  for (const auto& [name, function] : graph.functions) {
    verify(function);
    if (!function.updates.empty()) fail(function, nullptr, "is a function and updates a parameter or state");
    for (ValueId id : function.arguments) {
      const ValueInfo& info = function.value(id);
      if (is_stored(info.kind))
        fail(function, nullptr,
             "is a function: its argument " + info.name + " is no " + std::string(name_of(info.kind)));
    }
  }
}

}  // namespace ridgeline
