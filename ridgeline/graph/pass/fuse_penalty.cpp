#include "ridgeline/graph/pass/fuse_penalty.h"

#include <algorithm>
#include <optional>

#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/op/dense_update.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {
namespace {

// By node: whether it depends on node `at`. Nothing where one of these cannot move to the end of the graph: it updates,
// reads what an update may overwrite, or belongs to an exchange.
std::optional<std::vector<bool>> movable_readers(const Graph& graph, std::size_t at) {
  std::vector<bool> late(graph.values.size(), false);
  std::vector<bool> readers(graph.nodes.size(), false);
  late[static_cast<std::size_t>(graph.nodes[at].outputs[0])] = true;
  for (std::size_t n = at + 1; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const auto is_late = [&](ValueId id) { return late[static_cast<std::size_t>(id)]; };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), is_late)) continue;
    const auto stored = [&](ValueId id) { return is_stored(graph.value(id).kind); };
    const OpDef& def = op_def(node.op);
    if (def.has(kUpdate) || def.has(kCollective) || std::any_of(node.inputs.begin(), node.inputs.end(), stored))
      return std::nullopt;
    readers[n] = true;
    for (ValueId id : node.outputs) late[static_cast<std::size_t>(id)] = true;
  }
  return readers;
}

class Squares {
 public:
  Squares(Graph& graph, const FusionLimits& limits) : graph_(graph), limits_(limits) {
    for (const Node& node : graph.nodes) names_.insert(node.name);
  }

  // Takes the sums that updates after node `at`, a penalty, can compute from it.
  void take_from(std::size_t at) {
    if (graph_.value(graph_.nodes[at].outputs[0]).type.dtype != DType::f32) return;
    const auto readers = movable_readers(graph_, at);
    if (!readers) return;
    std::vector<ValueId> kept, squares;
    for (ValueId operand : graph_.nodes[at].inputs) {
      Node* const update = update_of(operand, at);
      if (update == nullptr)
        kept.push_back(operand);
      else
        squares.push_back(add_squares(*update));
    }
    if (squares.empty()) return;
    const Node penalty = graph_.nodes[at];
    std::vector<Node> nodes, moved;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (n != at || !kept.empty()) ((*readers)[n] ? moved : nodes).push_back(graph_.nodes[n]);
    }
    graph_.nodes = std::move(nodes);
    if (!kept.empty()) graph_.nodes[at].inputs = kept;
    ValueId sum = squares[0];
    for (std::size_t i = 1; i < squares.size(); ++i) sum = add("add", {sum, squares[i]}, {}, penalty);
    sum = add("scale", {sum}, {{"factor", penalty.attributes.real("factor") / 2}}, penalty);
    if (!kept.empty()) sum = add("add", {penalty.outputs[0], sum}, {}, penalty);
    for (Node& node : moved) std::replace(node.inputs.begin(), node.inputs.end(), penalty.outputs[0], sum);
    for (Return& r : graph_.returns) r.value = r.value == penalty.outputs[0] ? sum : r.value;
    for (Update& u : graph_.updates) u.next = u.next == penalty.outputs[0] ? sum : u.next;
    graph_.nodes.insert(graph_.nodes.end(), moved.begin(), moved.end());
  }

 private:
  // The op after `at` that updates `weights` and returns no squares yet.
  Node* update_of(ValueId weights, std::size_t at) {
    for (std::size_t n = at + 1; n < graph_.nodes.size(); ++n) {
      Node& node = graph_.nodes[n];
      if (node.op == "dense_update" && node.inputs[0] == weights && gives_squares(node)) return &node;
    }
    return nullptr;
  }

  bool gives_squares(const Node& update) const {
    const DenseUpdate at(update.attributes);
    const ValueType& x = graph_.value(update.inputs[at.x()]).type;
    const std::int64_t weights = graph_.value(update.inputs[0]).type.shape.elements();
    return !at.squares && limits_.takes({"dense_update", "l2_penalty", x.dtype, x.shape[0], weights});
  }

  ValueId add_squares(Node& update) {
    update.attributes.set("squares", true);
    const ValueId id = graph_.add_value({.type = {DType::f32, Shape{}}});
    const auto place = static_cast<std::ptrdiff_t>(DenseUpdate(update.attributes).squares_result());
    update.outputs.insert(update.outputs.begin() + place, id);
    return id;
  }

  // A scalar op at the end, named after the penalty.
  ValueId add(const char* op, std::vector<ValueId> inputs, const Attributes& attributes, const Node& penalty) {
    Node node;
    node.op = op;
    node.name = add_unique(names_, penalty.name + "/" + op);
    node.inputs = std::move(inputs);
    node.attributes = complete_attributes(op_def(op), attributes);
    node.where = penalty.where;
    node.outputs = {graph_.add_value({.type = {DType::f32, Shape{}}})};
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back().outputs[0];
  }

  Graph& graph_;
  const FusionLimits& limits_;
  NameSet names_;
};

}  // namespace

Graph fuse_penalty(Graph graph, const PassContext& context, PassResults&) {
  std::vector<std::string> penalties;
  for (const Node& node : graph.nodes) {
    if (node.op == "l2_penalty") penalties.push_back(node.name);
  }
  Squares squares(graph, context.fusion);
  for (const std::string& name : penalties) {
    const auto named = [&](const Node& node) { return node.name == name; };
    const auto at = std::find_if(graph.nodes.begin(), graph.nodes.end(), named);
    squares.take_from(static_cast<std::size_t>(at - graph.nodes.begin()));
  }
  return graph;
}

}  // namespace ridgeline
