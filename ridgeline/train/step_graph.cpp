#include "ridgeline/train/step_graph.h"

#include <set>

#include "ridgeline/format/wire/protobuf_wire.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline::train {
namespace {

// Field numbers: tensorflow.GraphDef, NodeDef, its map of attributes, AttrValue.
constexpr std::uint32_t kGraphNode = 1;
constexpr std::uint32_t kNodeName = 1;
constexpr std::uint32_t kNodeOp = 2;
constexpr std::uint32_t kNodeInput = 3;
constexpr std::uint32_t kNodeDevice = 4;
constexpr std::uint32_t kNodeAttribute = 5;
constexpr std::uint32_t kEntryKey = 1;
constexpr std::uint32_t kEntryValue = 2;
constexpr std::uint32_t kAttributeText = 2;

void add_attribute(ProtobufWriter& node, const std::string& key, const std::string& text) {
  ProtobufWriter value, entry;
  value.bytes(kAttributeText, text);
  entry.bytes(kEntryKey, key);
  entry.message(kEntryValue, value);
  node.message(kNodeAttribute, entry);
}

}  // namespace

std::vector<std::string> names_of_values(const Graph& graph) {
  std::vector<std::string> names(graph.values.size());
  std::set<std::string> taken;
  const auto give = [&](ValueId id, std::string name) {
    while (!taken.insert(name).second) name += "#";
    names[static_cast<std::size_t>(id)] = std::move(name);
  };
  for (const ValueId id : graph.arguments) give(id, graph.value(id).name);
  for (const Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      give(node.outputs[i], i == 0 ? node.name : node.name + ":" + std::to_string(i));
  }
  return names;
}

std::map<std::string, ValueId> gradients_of_updates(const Graph& graph) {
  std::map<std::string, ValueId> gradients;
  for (const Node& node : graph.nodes) {
    const int operand = op_def(node.op).gradient_operand;
    if (operand < 0) continue;
    for (const ValueId id : node.inputs) {
      if (graph.value(id).kind == ValueKind::param)
        gradients[graph.value(id).name] = node.inputs[static_cast<std::size_t>(operand)];
    }
  }
  return gradients;
}

std::string graph_def(const Graph& graph) {
  const std::vector<std::string> names = names_of_values(graph);
  const auto name_of_value = [&](ValueId id) { return names[static_cast<std::size_t>(id)]; };
  ProtobufWriter message;
  for (const ValueId id : graph.arguments) {
    ProtobufWriter node;
    node.bytes(kNodeName, name_of_value(id));
    node.bytes(kNodeOp, name_of(graph.value(id).kind));
    add_attribute(node, "type", graph.value(id).type.to_string());
    message.message(kGraphNode, node);
  }
  for (const Node& op : graph.nodes) {
    if (op.outputs.empty()) continue;
    ProtobufWriter node;
    node.bytes(kNodeName, name_of_value(op.outputs[0]));
    node.bytes(kNodeOp, op.op);
    for (const ValueId input : op.inputs) node.bytes(kNodeInput, name_of_value(input));
    node.bytes(kNodeDevice, "");
    add_attribute(node, "type", graph.value(op.outputs[0]).type.to_string());
    for (const auto& [key, value] : op.attributes) add_attribute(node, key, to_string(value));
    if (!op.where.empty() && op.where[0].known()) add_attribute(node, "where", op.where[0].to_string());
    message.message(kGraphNode, node);
  }
  return message.buffer();
}

}  // namespace ridgeline::train
