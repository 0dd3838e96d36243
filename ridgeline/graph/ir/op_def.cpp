#include "ridgeline/graph/ir/op_def.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/annotations.h"

namespace ridgeline {

const OpDef& op_def(std::string_view name) {
  if (const OpDef* def = find_op(name)) return *def;
  std::vector<std::string> names;
  for (const OpDef& def : all_ops()) names.push_back(def.name);
  throw Error("unknown op '" + std::string(name) + "'" + did_you_mean(name, names));
}

Attributes complete_attributes(const OpDef& def, const Attributes& given) {
  Attributes complete;
  for (const AttributeSpec& spec : def.attributes) {
    const Attribute* value = given.find(spec.name);
    if (value == nullptr) {
      if (!spec.fallback) throw Error("[" + def.name + "] attribute '" + spec.name + "' is required: " + spec.meaning);
      complete.set(spec.name, *spec.fallback);
      continue;
    }
    // An integer is accepted where a real is expected.
    if (std::holds_alternative<double>(spec.example) && std::holds_alternative<std::int64_t>(*value)) {
      complete.set(spec.name, static_cast<double>(std::get<std::int64_t>(*value)));
      continue;
    }
    if (value->index() != spec.example.index()) {
      throw Error("[" + def.name + "] attribute '" + spec.name + "' = " + to_string(*value) +
                  " has the wrong type; a value like " + to_string(spec.example) + " is meant");
    }
    complete.set(spec.name, *value);
  }
  for (const AttributeSpec& spec : annotations()) {
    const Attribute* value = given.find(spec.name);
    if (value == nullptr || complete.has(spec.name)) continue;
    if (value->index() != spec.example.index()) {
      throw Error("[" + def.name + "] annotation '" + spec.name + "' = " + to_string(*value) +
                  " has the wrong type; a value like " + to_string(spec.example) + " is meant");
    }
    complete.set(spec.name, *value);
  }
  for (const auto& [name, value] : given) {
    if (!complete.has(name)) {
      std::vector<std::string> names;
      for (const AttributeSpec& spec : def.attributes) names.push_back(spec.name);
      throw Error("[" + def.name + "] has no attribute '" + name + "'" + did_you_mean(name, names));
    }
  }
  return complete;
}

std::vector<ValueType> infer_types(const OpDef& def, std::span<const ValueType> inputs, const Attributes& complete,
                                   std::string_view node_name) {
  const int count = static_cast<int>(inputs.size());
  if (count < def.min_operands || (def.max_operands >= 0 && count > def.max_operands)) {
    std::string wanted = std::to_string(def.min_operands);
    if (def.max_operands < 0)
      wanted += " or more";
    else if (def.max_operands != def.min_operands)
      wanted += " to " + std::to_string(def.max_operands);
    throw Error("[" + def.name + "] takes " + wanted + " operands, not " + std::to_string(count));
  }
  std::vector<ValueType> results = def.infer({inputs, complete, node_name});
  for (const ValueType& type : results) type.bytes();  // an Error where they are too many to be counted
  return results;
}

std::size_t updated_operands(const Node& node) {
  const OpDef& def = op_def(node.op);
  if (!def.has(kUpdate)) return 0;
  return def.states ? def.states(node.attributes) : node.outputs.size();
}

Arithmetic arithmetic_of(const OpDef& def, const OpInstance& op, std::span<const ValueType> results) {
  if (def.arithmetic) return def.arithmetic(op, results);
  const auto wide = [](const ValueType& type) { return type.dtype == DType::f64; };
  const bool any =
      std::any_of(op.inputs.begin(), op.inputs.end(), wide) || std::any_of(results.begin(), results.end(), wide);
  return any ? Arithmetic::f64 : Arithmetic::f32;
}

Cost cost_of(const Graph& graph, const Node& node) {
  std::vector<ValueType> inputs;
  std::vector<ValueType> outputs;
  Cost cost;
  for (ValueId id : node.inputs) {
    inputs.push_back(graph.value(id).type);
    cost.bytes += static_cast<double>(inputs.back().bytes());
  }
  for (ValueId id : node.outputs) {
    outputs.push_back(graph.value(id).type);
    cost.bytes += static_cast<double>(outputs.back().bytes());
  }
  const OpDef& def = op_def(node.op);
  if (!def.cost) return cost;
  return def.cost({inputs, node.attributes, node.name}, outputs);
}

std::vector<Tensor> run_reference(const OpDef& def, std::span<const Tensor> inputs, const Attributes& complete,
                                  std::string_view node_name) {
  std::vector<ValueType> types;
  for (const Tensor& t : inputs) types.push_back({t.dtype(), t.shape()});
  std::vector<Tensor> outputs;
  for (ValueType& type : infer_types(def, types, complete, node_name)) outputs.emplace_back(type.dtype, type.shape);
  def.reference({types, complete, node_name}, inputs, outputs);
  return outputs;
}

}  // namespace ridgeline
