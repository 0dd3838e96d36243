#include "ridgeline/graph/pass/rewrite.h"

#include <algorithm>

#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {
namespace {

bool contains(const std::vector<ValueId>& ids, ValueId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

std::string copy_name(const std::string& name, std::string_view of_what, std::int64_t number) {
  return number == 0 ? name : name + std::string(of_what) + std::to_string(number);
}

std::string_view copied_from(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == name.size()) return name;
  for (const std::string_view of_what : {kMicroBatchCopy, kPartCopy}) {
    if (name.substr(0, digits).ends_with(of_what)) return name.substr(0, digits - of_what.size());
  }
  return name;
}

std::string add_unique(NameSet& taken, const std::string& base) {
  std::string name = base;
  for (int n = 1; !taken.insert(name).second; ++n) name = numbered_name(base, n);
  return name;
}

ValueId append_node(Graph& graph, NameSet& taken, std::string_view op, std::vector<ValueId> inputs,
                    const Attributes& attributes, const std::string& name, ValueKind kind, ValueId result) {
  const OpDef& def = op_def(op);
  Node node;
  node.op = def.name;
  node.attributes = complete_attributes(def, attributes);
  node.name = add_unique(taken, name);
  std::vector<ValueType> types;
  for (ValueId id : inputs) types.push_back(graph.value(id).type);
  node.inputs = std::move(inputs);
  const ValueType type = infer_types(def, types, node.attributes, node.name).front();
  node.outputs = {result == kNoValue ? graph.add_value({type, kind, ""}) : result};
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().outputs[0];
}

void add_locations(Node& node, const Node& from) {
  for (const Location& where : from.where) {
    if (std::find(node.where.begin(), node.where.end(), where) == node.where.end()) node.where.push_back(where);
  }
}

ValueUses::ValueUses(const Graph& graph) : producer_(producers(graph)), uses_(use_counts(graph)) {}

bool may_run_later(const Graph& graph, int from, int to) {
  const Node& node = graph.nodes[static_cast<std::size_t>(from)];
  for (int between = from + 1; between < to; ++between) {
    const Node& other = graph.nodes[static_cast<std::size_t>(between)];
    for (ValueId id : other.inputs) {
      if (contains(node.outputs, id)) return false;
    }
    for (std::size_t i = 0; i < updated_operands(other); ++i) {
      if (contains(node.inputs, other.inputs[i])) return false;
    }
  }
  return true;
}

bool overwritten(const Graph& graph, const Node& node, int first, int last) {
  return std::any_of(graph.nodes.begin() + first, graph.nodes.begin() + last, [&](const Node& other) {
    const auto states = other.inputs.begin() + static_cast<std::ptrdiff_t>(updated_operands(other));
    return std::find_first_of(other.inputs.begin(), states, node.inputs.begin(), node.inputs.end()) != states;
  });
}

void move_node(Graph& graph, int from, int to) {
  const auto at = graph.nodes.begin();
  if (from < to)
    std::rotate(at + from, at + from + 1, at + to + 1);
  else
    std::rotate(at + to, at + from, at + from + 1);
}

}  // namespace ridgeline
