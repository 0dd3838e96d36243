#include "ridgeline/graph/op/evaluate.h"

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {
namespace {

// `values` holds the arguments; fills in the rest.
void run_nodes(const Graph& graph, std::vector<Tensor>& values, const ChangeResult& change);

std::vector<Tensor> run_call(const Graph& graph, const Node& node, std::span<const Tensor> inputs,
                             const ChangeResult& change) {
  const auto callee = graph.functions.find(node.attributes.string("function"));
  if (callee == graph.functions.end()) {
    throw Error("[call] graph @" + graph.name + " has no function " + node.attributes.string("function"));
  }
  const Graph& body = callee->second;
  RIDGELINE_CHECK(body.arguments.size() == inputs.size(), "call with another number of arguments");
  std::vector<Tensor> values(body.values.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values[static_cast<std::size_t>(body.arguments[i])] = inputs[i];
  run_nodes(body, values, change);
  std::vector<Tensor> results;
  for (const Return& r : body.returns) results.push_back(values[static_cast<std::size_t>(r.value)]);
  return results;
}

void run_nodes(const Graph& graph, std::vector<Tensor>& values, const ChangeResult& change) {
  for (const Node& node : graph.nodes) {
    const OpDef& def = op_def(node.op);
    std::vector<Tensor> inputs;
    for (ValueId id : node.inputs) inputs.push_back(values[static_cast<std::size_t>(id)]);
    std::vector<Tensor> results =
        def.has(kCall) ? run_call(graph, node, inputs, change)
                       : run_reference(def, inputs, complete_attributes(def, node.attributes), node.name);
    RIDGELINE_CHECK(results.size() == node.outputs.size(), "another number of results: " + node.name);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (change && !def.has(kCall)) change(node, results[i]);
      values[static_cast<std::size_t>(node.outputs[i])] = std::move(results[i]);
    }
  }
}

}  // namespace

void check_arguments(const Graph& graph, const Arguments& arguments) {
  for (ValueId id : graph.arguments) {
    const ValueInfo& info = graph.value(id);
    const auto given = arguments.find(info.name);
    if (given == arguments.end()) throw Error("graph @" + graph.name + ": argument " + info.name + " is missing");
    const ValueType type{given->second.dtype(), given->second.shape()};
    if (type != info.type) {
      throw Error("graph @" + graph.name + ": argument " + info.name + " is " + type.to_string() + " instead of " +
                  info.type.to_string());
    }
  }
  for (const auto& [name, tensor] : arguments) {
    if (graph.find_argument(name) == kNoValue) throw Error("graph @" + graph.name + " has no argument " + name);
  }
}

std::vector<Tensor> evaluate(const Graph& graph, const Arguments& arguments, const ChangeResult& change) {
  check_arguments(graph, arguments);
  std::vector<Tensor> values(graph.values.size());
  for (ValueId id : graph.arguments)
    values[static_cast<std::size_t>(id)] = arguments.find(graph.value(id).name)->second;
  run_nodes(graph, values, change);
  return values;
}

std::vector<Tensor> evaluate_returns(const Graph& graph, const Arguments& arguments) {
  const std::vector<Tensor> values = evaluate(graph, arguments);
  std::vector<Tensor> results;
  for (const Return& r : graph.returns) results.push_back(values[static_cast<std::size_t>(r.value)]);
  return results;
}

Arguments evaluate_updates(const Graph& graph, const Arguments& arguments) {
  const std::vector<Tensor> values = evaluate(graph, arguments);
  Arguments next;
  for (const Update& update : graph.updates) {
    next.emplace(graph.value(update.current).name, values[static_cast<std::size_t>(update.next)]);
  }
  return next;
}

}  // namespace ridgeline
