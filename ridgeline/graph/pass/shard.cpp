#include "ridgeline/graph/pass/shard.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/annotations.h"
#include "ridgeline/graph/pass/follows_batch.h"
#include "ridgeline/graph/pass/shard_form.h"
#include "ridgeline/graph/pass/shard_plan.h"
#include "ridgeline/graph/pass/weights_of_gradient.h"

namespace ridgeline {
namespace {

using sharding::axis_of;
using sharding::Form;
using sharding::is_part;

class Sharder {
 public:
  Sharder(const Graph& graph, const Distribution& distribution, const std::vector<ShardedLayer>& layers)
      : given_(graph), ranks_(distribution.ranks), rank_(distribution.rank), group_(distribution.group) {
    for (const ShardedLayer& layer : layers) cuts_[layer.node] = layer.how;
  }

  // By name.
  NameSet parts() const {
    NameSet names;
    for (const auto& [id, part] : parts_) names.insert(given_.value(id).name);
    return names;
  }

  // A slot or average turns out to be sharded when it is combined with the shard of its parameter: then the pass
  // restarts with what is known by now.
  Graph run() {
    while (true) {
      const std::size_t known = parts_.size();
      Graph made = rewritten();
      if (parts_.size() == known) return made;
    }
  }

 private:
  // ---- what is known of values

  const ValueType& full(ValueId id) const { return given_.value(id).type; }
  Form form(ValueId id) const { return forms_[static_cast<std::size_t>(id)]; }
  bool is_stored_argument(ValueId id) const { return is_stored(given_.value(id).kind); }
  bool follows_batch(ValueId id) const { return local_[static_cast<std::size_t>(id)]; }

  [[noreturn]] void refuse(const Node& node, const std::string& why) const {
    const std::string where = node.where.empty() ? "" : " (" + node.where.front().to_string() + ")";
    throw Error("[shard] " + node.name + " (" + node.op + ")" + where + " " + why);
  }

  ValueType part_type(const Node& node, ValueId id, Form part) const {
    ValueType type = full(id);
    const int axis = axis_of(part);
    if (type.shape.rank() <= axis || type.shape[axis] % ranks_ != 0) {
      const std::string& name = given_.value(id).name;
      refuse(node, "cannot be divided: axis " + std::to_string(axis) + " of " + (name.empty() ? "a value" : name) +
                       " " + type.to_string() + " is no multiple of " + std::to_string(ranks_) + " ranks");
    }
    type.shape[axis] /= ranks_;
    return type;
  }

  // ---- ops that are added

  ValueId add(std::string_view op, std::vector<ValueId> inputs, const Attributes& attributes, const std::string& name) {
    const ValueId result = append_node(graph_, names_, op, std::move(inputs), attributes, name, kind_);
    graph_.nodes.back().where = at_->where;
    return result;
  }
  ValueId exchange(std::string_view op, ValueId x, const std::string& name, bool combines = false) {
    Attributes attributes = {{"group", group_}, {"ranks", ranks_}};
    if (combines) attributes.set("reduction", std::string("sum"));
    return add(op, {x}, attributes, name);
  }
  ValueId reshaped(ValueId x, std::vector<std::int64_t> shape, const std::string& name) {
    return add("reshape", {x}, {{"shape", std::move(shape)}}, name);
  }
  ValueId swapped(ValueId x, const std::string& name) {
    return add("transpose", {x}, {{"permutation", std::vector<std::int64_t>{1, 0, 2}}}, name);
  }

  // The value in the wanted distribution, which ops before the current one make on first use.
  ValueId as(ValueId id, Form wanted) {
    if (form(id) == wanted) return id;
    const auto [made, is_new] = made_.try_emplace({id, wanted}, kNoValue);
    if (is_new) {
      kind_ = graph_.value(id).kind == ValueKind::grad ? ValueKind::grad : ValueKind::activation;
      const ValueId converted = convert(id, wanted);
      made_[{id, wanted}] = converted;
    }
    return made_.at({id, wanted});
  }

  ValueId convert(ValueId id, Form wanted) {
    const std::string base = name_of_value(id);
    if (is_part(wanted)) return part_of(id, wanted, base);
    if (is_part(form(id))) {
      refuse(*at_, "reads all of " + base +
                       ", and each rank has a part of it (allowed: dense, updates, elementwise ops, l2_penalty, sums)");
    }
    if (wanted == Form::rows) return exchange("all_gather", as(id, Form::given), base + "/all_rows");
    if (wanted == Form::given) return given_from_columns(id, base);
    return columns_from_given(id, base);
  }

  const std::string& name_of_value(ValueId id) const {
    const std::string& argument = given_.value(id).name;
    if (!argument.empty()) return argument;
    return given_.nodes[static_cast<std::size_t>(producer_[static_cast<std::size_t>(id)])].name;
  }

  // Every rank has the same: no exchange.
  ValueId part_of(ValueId id, Form wanted, const std::string& base) {
    if (follows_batch(id) || form(id) != Form::given) {
      refuse(*at_, "brings together parts of a parameter and " + base +
                       ", which is another on each rank (allowed: what is as large as the parameter, or a scalar)");
    }
    if (is_stored_argument(id)) parts_[id] = wanted;  // from the next round on
    const ValueType part = part_type(*at_, id, wanted);
    std::vector<std::int64_t> start(static_cast<std::size_t>(part.shape.rank()), 0), stride(start.size(), 1);
    const auto axis = static_cast<std::size_t>(axis_of(wanted));
    start[axis] = rank_ * part.shape[axis_of(wanted)];
    return add("strided_slice", {id}, {{"start", start}, {"stride", stride}, {"size", part.shape.dims()}},
               base + "/part");
  }

  // [B,K] of the own batch -> [N*B,K/N]: every rank sends each other one its columns.
  ValueId columns_from_given(ValueId id, const std::string& base) {
    const Shape& shape = full(id).shape;
    const std::int64_t part = shape[1] / ranks_;
    const ValueId parts = swapped(reshaped(id, {shape[0], ranks_, part}, base + "/parts"), base + "/by_rank");
    return reshaped(exchange("all_to_all", parts, base + "/to_columns"), {ranks_ * shape[0], part}, base + "/columns");
  }

  // [N*B,K/N] -> [B,K].
  ValueId given_from_columns(ValueId id, const std::string& base) {
    const Shape& shape = full(id).shape;
    const std::int64_t part = shape[1] / ranks_;
    const ValueId by_rank =
        exchange("all_to_all", reshaped(id, {ranks_, shape[0], part}, base + "/by_rank"), base + "/to_rows");
    return reshaped(swapped(by_rank, base + "/in_order"), {shape[0], shape[1]}, base + "/own_rows");
  }

  // ---- the pass

  Graph rewritten() {
    graph_ = given_;
    graph_.nodes.clear();
    names_.clear();
    for (const Node& node : given_.nodes) names_.insert(node.name);
    producer_ = producers(given_);
    forms_.assign(given_.values.size(), Form::given);
    made_.clear();
    masks_.clear();
    local_ = ridgeline::follows_batch(given_);
    declare_parts();
    for (const Node& node : given_.nodes) {
      at_ = &node;
      rewrite(node);
    }
    finish();
    Graph made = std::move(graph_);
    for (Node& node : made.nodes) node.attributes.erase(kShard);
    return made;
  }

  void declare_parts() {
    for (const Node& node : given_.nodes) {
      const auto cut = cuts_.find(node.name);
      if (cut == cuts_.end()) continue;
      if (node.inputs.size() > 3 || node.attributes.string("activation") != "none")
        refuse(node, "is merged with other ops, and cannot be divided");
      const bool columns = cut->second == kColumns;
      declare_part(node, node.inputs[1], columns ? Form::part_0 : Form::part_1);
      if (columns && node.inputs.size() == 3) declare_part(node, node.inputs[2], Form::part_0);
    }
    for (const auto& [id, part] : parts_) {
      const Node* node = reader_of(id);
      graph_.value(id).type = part_type(*node, id, part);
      forms_[static_cast<std::size_t>(id)] = part;
    }
  }

  const Node* reader_of(ValueId id) const {
    for (const Node& node : given_.nodes) {
      if (std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end()) return &node;
    }
    return &given_.nodes.front();
  }

  void declare_part(const Node& node, ValueId id, Form part) {
    if (!is_stored_argument(id)) refuse(node, "cannot be divided: its weights are computed, not stored");
    const auto [known, is_new] = parts_.try_emplace(id, part);
    if (!is_new && known->second != part)
      refuse(node, "divides " + given_.value(id).name + " in another way than another op that reads it");
  }

  void rewrite(const Node& node) {
    const OpDef& def = op_def(node.op);
    if (const auto cut = cuts_.find(node.name); cut != cuts_.end()) return forward(node, cut->second);
    if (node.op == "dense_bwd_data" && is_part(form(node.inputs[1]))) return data_gradient(node);
    if (node.op == "dense_bwd_weights") {
      const ValueId w = weights_of_gradient(given_, node);
      if (w != kNoValue && is_part(form(w))) return weight_gradient(node, form(w) == Form::part_0 ? kColumns : kRows);
    }
    const auto any = [&](auto test) {
      return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return test(form(id)); });
    };
    if (any([](Form f) { return f == Form::columns; })) return with_columns(node, def);
    if (any(is_part)) return with_parts(node, def);
    graph_.nodes.push_back(node);
  }

  // `node` with other operands; its results keep their ids and get the types that follow.
  void emit(Node node, Form results) {
    std::vector<ValueType> types;
    for (ValueId id : node.inputs) types.push_back(graph_.value(id).type);
    const std::vector<ValueType> made = infer_types(op_def(node.op), types, node.attributes, node.name);
    for (std::size_t i = 0; i < made.size(); ++i) {
      graph_.value(node.outputs[i]).type = made[i];
      forms_[static_cast<std::size_t>(node.outputs[i])] = results;
    }
    graph_.nodes.push_back(std::move(node));
  }
  void emit(std::string_view op, std::vector<ValueId> inputs, const Attributes& attributes, const std::string& name,
            ValueId result, Form form) {
    Node node;
    node.op = op;
    node.inputs = std::move(inputs);
    node.attributes = complete_attributes(op_def(op), attributes);
    node.name = name;
    node.where = at_->where;
    node.outputs = {result};
    emit(std::move(node), form);
  }
  Attributes combined() const { return {{"group", group_}, {"ranks", ranks_}, {"reduction", std::string("sum")}}; }

  void forward(const Node& node, const std::string& how) {
    kind_ = ValueKind::activation;
    if (how == kColumns) {
      Node part = node;
      part.inputs[0] = as(node.inputs[0], Form::rows);
      return emit(std::move(part), Form::columns);
    }
    const ValueId x = as(node.inputs[0], Form::columns);
    kind_ = ValueKind::activation;
    const ValueId sums = add("dense", {x, node.inputs[1]}, without_annotations(node), node.name + "/sums");
    if (node.inputs.size() == 2)
      return emit("reduce_scatter", {sums}, combined(), node.name, node.outputs[0], Form::given);
    const ValueId y = exchange("reduce_scatter", sums, node.name + "/own_rows", true);
    emit("add", {y, as(node.inputs[2], Form::given)}, {}, node.name, node.outputs[0], Form::given);
  }

  static Attributes without_annotations(const Node& node) {
    Attributes attributes = node.attributes;
    for (const AttributeSpec& spec : annotations()) attributes.erase(spec.name);
    return attributes;
  }

  void data_gradient(const Node& node) {
    kind_ = ValueKind::grad;
    if (form(node.inputs[1]) == Form::part_1) {  // rows
      Node part = node;
      part.inputs[0] = as(node.inputs[0], Form::rows);
      return emit(std::move(part), Form::columns);
    }
    const ValueId dy = as(node.inputs[0], Form::columns);
    kind_ = ValueKind::grad;
    const ValueId sums = add("dense_bwd_data", {dy, node.inputs[1]}, node.attributes, node.name + "/sums");
    emit("reduce_scatter", {sums}, combined(), node.name, node.outputs[0], Form::given);
  }

  // Every rank's loss is the mean over its own batch, so the sum over all rows is N times the gradient of their mean.
  void weight_gradient(const Node& node, const std::string& how) {
    const bool columns = how == kColumns;
    const ValueId x = as(node.inputs[0], columns ? Form::rows : Form::columns);
    const ValueId dy = as(node.inputs[1], columns ? Form::columns : Form::rows);
    kind_ = ValueKind::grad;
    const bool bias = node.attributes.boolean("bias");
    Node sums = node;
    sums.name = add_unique(names_, node.name + "/sums");
    sums.inputs = {x, dy};
    if (!columns) sums.attributes.set("bias", false);
    std::vector<ValueType> types = {graph_.value(x).type, graph_.value(dy).type};
    sums.outputs.clear();
    for (const ValueType& type : infer_types(op_def(node.op), types, sums.attributes, sums.name))
      sums.outputs.push_back(graph_.add_value({type, ValueKind::grad, ""}));
    const std::vector<ValueId> made = sums.outputs;
    graph_.nodes.push_back(std::move(sums));
    mean(made[0], node.name, node.outputs[0], columns ? Form::part_0 : Form::part_1);
    if (!bias) return;
    const std::string name = add_unique(names_, node.name + "/bias");
    if (columns) return mean(made[1], name, node.outputs[1], Form::part_0);
    emit("reduce_sum", {as(node.inputs[1], Form::given)}, {{"axes", std::vector<std::int64_t>{0}}}, name,
         node.outputs[1], Form::given);
  }

  void mean(ValueId sum, const std::string& name, ValueId result, Form part) {
    emit("scale", {sum}, {{"factor", 1.0 / static_cast<double>(ranks_)}}, name, result, part);
  }

  // Elementwise ops and updates over shards of one parameter; sums of all elements.
  void with_parts(const Node& node, const OpDef& def) {
    if (node.op == "l2_penalty" || node.op == "reduce_sum") return sum_of_parts(node);
    if (!def.has(kPointwise) && !def.has(kUpdate)) {
      for (ValueId id : node.inputs) as(id, is_part(form(id)) ? Form::given : form(id));  // refuses
    }
    const ValueId* first = nullptr;
    for (const ValueId& id : node.inputs) {
      if (is_part(form(id)) && (first == nullptr || full(id).shape.rank() > full(*first).shape.rank())) first = &id;
    }
    const Form part = form(*first);
    const Shape& shape = full(*first).shape;
    Node own = node;
    for (ValueId& id : own.inputs) {
      if (full(id).shape.rank() == 0) continue;
      if (full(id).shape != shape)
        refuse(node, "brings together the parts of " + name_of_value(*first) + " and " + name_of_value(id) +
                         ", which is not as large");
      id = as(id, part);
    }
    emit(std::move(own), part);
  }

  void sum_of_parts(const Node& node) {
    std::vector<ValueId> parts, whole;
    for (ValueId id : node.inputs) (is_part(form(id)) ? parts : whole).push_back(id);
    if (node.op == "reduce_sum" && (!node.attributes.integers("axes").empty() || node.attributes.boolean("keep_dims")))
      refuse(node, "sums a part of " + name_of_value(parts[0]) + " along some axes (allowed: all of it)");
    kind_ = graph_.value(node.outputs[0]).kind;
    const ValueId own = add(node.op, parts, node.attributes, node.name + "/parts");
    if (whole.empty()) return emit("all_reduce", {own}, combined(), node.name, node.outputs[0], Form::given);
    const ValueId all = exchange("all_reduce", own, node.name + "/all_parts", true);
    for (ValueId& id : whole) id = as(id, Form::given);
    const ValueId rest = add(node.op, whole, node.attributes, node.name + "/whole");
    emit("add", {rest, all}, {}, node.name, node.outputs[0], Form::given);
  }

  // Elementwise ops work on the columns; any other op gets the rows of its own batch.
  void with_columns(const Node& node, const OpDef& def) {
    if (def.has(kPointwise) && stays_in_columns(node)) return def.has(kRandom) ? masked(node) : elementwise(node);
    if (node.op == "reduce_sum" && graph_.value(node.outputs[0]).kind == ValueKind::grad &&
        node.attributes.integers("axes") == std::vector<std::int64_t>{0} && !node.attributes.boolean("keep_dims")) {
      kind_ = ValueKind::grad;
      const ValueId sums = add("reduce_sum", {node.inputs[0]}, node.attributes, node.name + "/sums");
      return mean(sums, node.name, node.outputs[0], Form::part_0);
    }
    Node own = node;
    for (ValueId& id : own.inputs) id = as(id, Form::given);
    graph_.nodes.push_back(std::move(own));
  }

  bool stays_in_columns(const Node& node) const {
    const Shape* shape = nullptr;
    for (ValueId id : node.inputs) {
      if (form(id) == Form::columns) shape = &full(id).shape;
    }
    return node.outputs.size() == 1 && full(node.outputs[0]).shape == *shape &&
           std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
             const Shape& other = full(id).shape;
             if (other.rank() == 0) return !follows_batch(id);
             return other == *shape || (other.rank() == 1 && other[0] == (*shape)[1] && !follows_batch(id));
           });
  }

  void elementwise(const Node& node) {
    Node own = node;
    for (ValueId& id : own.inputs) {
      const int axes = full(id).shape.rank();
      if (axes > 0) id = as(id, axes == 2 ? Form::columns : Form::part_0);
    }
    emit(std::move(own), Form::columns);
  }

  // A mask numbers the rows of all ranks as one rank with all batches would: row i of rank r is row i * N + r there, as
  // ranks take samples in turn. So all ranks draw the complete mask and each takes its columns.
  void masked(const Node& node) {
    kind_ = ValueKind::activation;
    std::string key = std::to_string(node.inputs[1]);
    for (const auto& [name, value] : node.attributes) key += " " + to_string(value);
    const auto [mask, is_new] = masks_.try_emplace(key, kNoValue);
    const ValueType& type = full(node.inputs[0]);
    const std::int64_t batch = type.shape[0], columns = type.shape[1];
    if (is_new) {
      const ValueId one = add("constant", {}, {{"value", 1.0}, {"dtype", type.dtype}}, node.name + "/one");
      const ValueId ones = add("broadcast_to", {one}, {{"shape", std::vector<std::int64_t>{batch * ranks_, columns}}},
                               node.name + "/ones");
      const ValueId drawn = add("dropout", {ones, node.inputs[1]}, without_annotations(node), node.name + "/drawn");
      const ValueId own = add("strided_slice", {drawn},
                              {{"start", std::vector<std::int64_t>{0, rank_ * (columns / ranks_)}},
                               {"stride", std::vector<std::int64_t>{1, 1}},
                               {"size", std::vector<std::int64_t>{batch * ranks_, columns / ranks_}}},
                              node.name + "/own");
      const ValueId in_turn = reshaped(own, {batch, ranks_, columns / ranks_}, node.name + "/in_turn");
      mask->second =
          reshaped(swapped(in_turn, node.name + "/by_rank"), {batch * ranks_, columns / ranks_}, node.name + "/mask");
    }
    emit("mul", {as(node.inputs[0], Form::columns), mask->second}, {}, node.name, node.outputs[0], Form::columns);
  }

  // Stored values keep their distribution over the step; returned values get their original one.
  void finish() {
    for (Update& update : graph_.updates) {
      const Form now = form(update.current), next = form(update.next);
      if (now == next) continue;
      at_ = producer_[static_cast<std::size_t>(update.next)] >= 0
                ? &given_.nodes[static_cast<std::size_t>(producer_[static_cast<std::size_t>(update.next)])]
                : &given_.nodes.front();
      if (is_part(next)) {
        if (now != Form::given) refuse(*at_, "gives the next " + given_.value(update.current).name + " in other parts");
        parts_[update.current] = next;
      } else {
        update.next = as(update.next, now);
      }
    }
    for (Return& r : graph_.returns) {
      if (form(r.value) == Form::given) continue;
      at_ = &given_.nodes[static_cast<std::size_t>(std::max(0, producer_[static_cast<std::size_t>(r.value)]))];
      r.value = as(r.value, Form::given);
    }
  }

  const Graph& given_;
  std::int64_t ranks_, rank_;
  std::string group_;
  std::map<std::string, std::string> cuts_;  // how, by the layer's op
  std::map<ValueId, Form> parts_;            // sharded stored values

  Graph graph_;
  std::vector<int> producer_;
  std::vector<bool> local_;  // follows from the rank's own batch
  std::vector<Form> forms_;  // of the values of the given step
  std::map<std::pair<ValueId, Form>, ValueId> made_;
  std::map<std::string, ValueId> masks_;
  NameSet names_;
  const Node* at_ = nullptr;  // the node in progress
  ValueKind kind_ = ValueKind::activation;
};

}  // namespace

Graph shard_layers(Graph graph, const Distribution& over, PassResults& results,
                   const std::vector<ShardedLayer>& layers) {
  if (layers.empty() || over.ranks <= 1) {
    for (Node& node : graph.nodes) node.attributes.erase(kShard);
    return graph;
  }
  Sharder sharder(graph, over, layers);
  Graph made = sharder.run();
  results.parts = sharder.parts();
  return made;
}

Graph shard(Graph graph, const PassContext& context, PassResults& results) {
  check_shards(graph, context.distribution);
  const ShardPlan plan = plan_shards(graph, context.distribution);
  if (!plan.text.empty()) results.plan = plan.text;
  return shard_layers(std::move(graph), context.distribution, results, plan.layers);
}

}  // namespace ridgeline
