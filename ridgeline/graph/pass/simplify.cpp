#include "ridgeline/graph/pass/simplify.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "ridgeline/core/tensor.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {
namespace {

class Simplifier {
 public:
  explicit Simplifier(Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes) {
      overwritten_.insert(node.inputs.begin(),
                          node.inputs.begin() + static_cast<std::ptrdiff_t>(updated_operands(node)));
    }
  }

  void run() {
    std::vector<Node> kept;
    for (Node& node : graph_.nodes) {
      for (ValueId& id : node.inputs) id = resolve(id);
      fold(node);
      // A value that an update overwrites must not replace its copy: the copy's readers may come later.
      if (const ValueId same = unchanged(node); same != kNoValue && !overwritten_.contains(same)) {
        replaced_[node.outputs.front()] = same;
        continue;
      }
      if (merge(node)) continue;
      if (node.op == "constant") constants_[node.outputs.front()] = stored(node);
      kept.push_back(std::move(node));
    }
    graph_.nodes = std::move(kept);
    for (Update& update : graph_.updates) update.next = resolve(update.next);
    for (Return& r : graph_.returns) r.value = resolve(r.value);
    remove_dead_nodes(graph_);
  }

 private:
  ValueId resolve(ValueId id) const {
    const auto it = replaced_.find(id);
    return it == replaced_.end() ? id : it->second;
  }

  std::optional<double> constant(ValueId id) const {
    const auto it = constants_.find(id);
    return it == constants_.end() ? std::nullopt : std::optional<double>(it->second);
  }

  // As its readers see it, rounded to its type.
  static double stored(const Node& constant) {
    return run_reference(op_def(constant.op), {}, constant.attributes, constant.name).front().at(0);
  }

  // A pointwise op on constants alone becomes a constant, computed by its reference.
  void fold(Node& node) const {
    const OpDef& def = op_def(node.op);
    if (!def.has(kPointwise) || def.has(kRandom) || def.has(kUpdate) || node.inputs.empty() || node.outputs.size() != 1)
      return;
    const ValueType& type = graph_.value(node.outputs.front()).type;
    if (type.shape.rank() != 0 || type.dtype == DType::boolean) return;
    std::vector<Tensor> inputs;
    for (ValueId id : node.inputs) {
      const auto value = constant(id);
      if (!value) return;
      Tensor t(graph_.value(id).type.dtype, Shape{});
      t.set(0, *value);
      inputs.push_back(std::move(t));
    }
    const double value = run_reference(def, inputs, node.attributes, node.name).front().at(0);
    node.op = "constant";
    node.inputs.clear();
    node.attributes = complete_attributes(op_def("constant"), {{"value", value}, {"dtype", type.dtype}});
  }

  // The operand that the node's only result is equal to, bit by bit, or kNoValue.
  ValueId unchanged(const Node& node) const {
    if (node.outputs.size() != 1 || node.inputs.empty()) return kNoValue;
    const ValueType& type = graph_.value(node.outputs.front()).type;
    const auto same_type = [&](std::size_t i) { return graph_.value(node.inputs[i]).type == type; };
    const auto is = [&](std::size_t i, double value) { return constant(node.inputs[i]) == value; };
    const std::string& op = node.op;
    if ((op == "cast" || op == "reshape" || op == "broadcast_to") && same_type(0)) return node.inputs[0];
    if (op == "scale" && node.attributes.real("factor") == 1.0) return node.inputs[0];
    if (op == "dropout" && node.attributes.real("keep_prob") == 1.0) return node.inputs[0];
    if ((op == "mul" || op == "div") && is(1, 1.0) && same_type(0)) return node.inputs[0];
    if (op == "mul" && is(0, 1.0) && same_type(1)) return node.inputs[1];
    // Not x + 0, nor x - (-0): they turn -0 into +0.
    if (op == "sub" && is(1, 0.0) && !std::signbit(*constant(node.inputs[1])) && same_type(0)) return node.inputs[0];
    return kNoValue;
  }

  // True when an equal op was there before; its results stand in.
  bool merge(const Node& node) {
    if (op_def(node.op).has(kUpdate) || op_def(node.op).has(kCollective)) return false;
    std::string key = node.op;
    for (ValueId id : node.inputs) key += " " + std::to_string(id);
    for (const auto& [name, value] : node.attributes) key += "\n" + name + "=" + to_string(value);
    const auto [it, is_new] = seen_.try_emplace(key, node.outputs);
    if (is_new) return false;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) replaced_[node.outputs[i]] = it->second[i];
    return true;
  }

  Graph& graph_;
  std::set<ValueId> overwritten_;  // operands that updates take the place of
  std::map<ValueId, ValueId> replaced_;
  std::map<ValueId, double> constants_;
  std::map<std::string, std::vector<ValueId>> seen_;
};

}  // namespace

Graph simplify(Graph graph) {
  Simplifier(graph).run();
  return graph;
}

}  // namespace ridgeline
