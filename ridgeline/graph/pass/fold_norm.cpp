#include "ridgeline/graph/pass/fold_norm.h"

#include <algorithm>

#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {
namespace {

class NormFolder {
 public:
  explicit NormFolder(Graph graph) : graph_(std::move(graph)), uses_(graph_), constant_(graph_.values.size(), false) {
    for (const Node& node : graph_.nodes) names_.insert(node.name);
    for (ValueId id : graph_.arguments) {
      const ValueKind kind = graph_.value(id).kind;
      constant_[static_cast<std::size_t>(id)] = kind == ValueKind::param || kind == ValueKind::state;
    }
    for (const Update& update : graph_.updates) constant_[static_cast<std::size_t>(update.current)] = false;
  }

  Graph run(const PassContext& context) {
    std::vector<Node> before = std::move(graph_.nodes);
    std::vector<const Node*> norm_of(before.size(), nullptr);  // by layer
    for (const Node& node : before) {
      if (const int layer = layer_of(before, node, context); layer >= 0)
        norm_of[static_cast<std::size_t>(layer)] = &node;
    }
    graph_.nodes.clear();
    for (std::size_t n = 0; n < before.size(); ++n) {
      Node node = before[n];
      const Node* const norm = norm_of[n];
      if (norm != nullptr) {
        for (std::size_t i = 1; i < node.inputs.size(); ++i) node.inputs[i] = unrounded(before, node.inputs[i]);
        fold(node, *norm);
      }
      graph_.nodes.push_back(std::move(node));
      if (norm != nullptr) activate(graph_.nodes.back(), *norm);
    }
    for (const auto& [from, to] : reread_) graph_.replace_uses(from, to);
    remove_dead_nodes(graph_);
    return std::move(graph_);
  }

 private:
  // The layer before this batch norm, if the two can be merged, or -1.
  int layer_of(const std::vector<Node>& nodes, const Node& norm, const PassContext& context) const {
    if (norm.op != "batch_norm_eval" || norm.inputs.size() != 5 || norm.attributes.boolean("var_is_inv_std")) return -1;
    const int at = uses_.producer(norm.inputs[0]);
    if (at < 0 || uses_.count(norm.inputs[0]) != 1) return -1;
    const Node& layer = nodes[static_cast<std::size_t>(at)];
    if (layer.op != "conv2d" && layer.op != "dense") return -1;
    if (context.keep_apart.contains(layer.name) || layer.attributes.string("activation") != "none") return -1;
    const auto folds = [&](ValueId id) {
      return constant_[static_cast<std::size_t>(id)] && type_of(id).dtype == DType::f32;
    };
    const auto rounded_folds = [&](ValueId id) { return folds(unrounded(nodes, id)); };
    const bool all = std::all_of(layer.inputs.begin() + 1, layer.inputs.end(), rounded_folds) &&
                     std::all_of(norm.inputs.begin() + 1, norm.inputs.end(), folds);
    // f16 is not folded: weights times gamma / deviation may leave its range.
    const bool types =
        kTypes.contains(type_of(layer.inputs[0]).dtype) && type_of(layer.outputs[0]) == type_of(norm.outputs[0]);
    return all && types && layer.inputs.size() <= 3 ? at : -1;
  }

  // What a cast to bf16 rounds; without a cast the value itself.
  ValueId unrounded(const std::vector<Node>& nodes, ValueId id) const {
    const int at = uses_.producer(id);
    if (at < 0 || type_of(id).dtype != DType::bf16) return id;
    const Node& cast = nodes[static_cast<std::size_t>(at)];
    return op_def(cast.op).has(kCast) ? cast.inputs[0] : id;
  }

  void fold(Node& layer, const Node& norm) {
    const ValueId gamma = norm.inputs[1], beta = norm.inputs[2], mean = norm.inputs[3], variance = norm.inputs[4];
    const ValueType weight = type_of(layer.inputs[1]);
    const ValueType channels = type_of(gamma);
    std::vector<std::int64_t> rows(static_cast<std::size_t>(weight.shape.rank()), 1);
    rows[0] = weight.shape[0];
    const auto add = [&](const std::string& op, std::vector<ValueId> inputs, const ValueType& type,
                         const Attributes& attributes = {}) {
      return this->add(norm, op, std::move(inputs), type, attributes);
    };
    const ValueId epsilon = add("constant", {}, {DType::f32, {}}, {{"value", norm.attributes.real("epsilon")}});
    const ValueId deviation = add("sqrt", {add("add", {variance, epsilon}, channels)}, channels);
    const ValueId scale = add("div", {gamma, deviation}, channels);
    const ValueId wide = add("reshape", {scale}, {DType::f32, Shape(rows)}, {{"shape", rows}});
    ValueId bias = add("sub", {beta, add("mul", {mean, scale}, channels)}, channels);
    if (layer.inputs.size() == 3) bias = add("add", {bias, add("mul", {layer.inputs[2], scale}, channels)}, channels);
    ValueId scaled = add("mul", {layer.inputs[1], wide}, weight);
    if (const DType dtype = type_of(layer.inputs[0]).dtype; dtype != DType::f32)
      scaled = add("cast", {scaled}, {dtype, weight.shape}, {{"to", dtype}});
    layer.inputs = {layer.inputs[0], scaled, bias};
    add_locations(layer, norm);
  }

  // Readers of the norm read the layer, which applies relu; another activation stays an op.
  void activate(Node& layer, const Node& norm) {
    const std::string& activation = norm.attributes.string("activation");
    ValueId y = norm.inputs[0];
    if (activation == "none" || activation == "relu")
      layer.attributes.set("activation", activation);
    else
      y = add(norm, activation, {y}, type_of(y));
    reread_.emplace_back(norm.outputs[0], y);
  }

  // The result of a new op, which belongs to the norm.
  ValueId add(const Node& norm, const std::string& op, std::vector<ValueId> inputs, const ValueType& type,
              const Attributes& attributes = {}) {
    Node node;
    node.op = op;
    node.name = add_unique(names_, norm.name + "/" + op);
    node.attributes = complete_attributes(op_def(op), attributes);
    node.inputs = std::move(inputs);
    node.outputs = {graph_.add_value({type, ValueKind::activation, ""})};
    add_locations(node, norm);
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back().outputs[0];
  }

  static constexpr DTypeSet kTypes{DType::f32, DType::bf16};  // of the data

  const ValueType& type_of(ValueId id) const { return graph_.value(id).type; }

  Graph graph_;
  ValueUses uses_;
  std::vector<bool> constant_;  // by value: stored, and not changed by the graph
  NameSet names_;
  std::vector<std::pair<ValueId, ValueId>> reread_;  // readers of the first value will read the second
};

}  // namespace

Graph fold_norm(Graph graph, const PassContext& context, PassResults&) {
  return NormFolder(std::move(graph)).run(context);
}

}  // namespace ridgeline
