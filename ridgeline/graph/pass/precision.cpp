#include "ridgeline/graph/pass/precision.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/core/tensor.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/pass/precision_rules.h"

namespace ridgeline {
namespace {

constexpr std::string_view kF32Results = "f32_results";

// The types of one op after the rewrite.
struct Types {
  DType operands = DType::f32;
  DType results = DType::f32;
};

// By node: whether it belongs to an update that is written as ordinary ops, or to its scalars (a factor of the rate).
// Its results are read only by updates, as returned values or by other such nodes. Gradients do not belong to it.
std::vector<bool> update_parts(const Graph& graph) {
  std::vector<bool> updates(graph.values.size(), false);  // by value: read by such a part
  std::vector<bool> others(graph.values.size(), false);   // by value: read by anything else
  for (const Update& update : graph.updates) updates[static_cast<std::size_t>(update.next)] = true;
  std::vector<bool> parts(graph.nodes.size(), false);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const PrecisionRule* rule = find_precision_rule(node.op);
    const bool update = op_def(node.op).has(kUpdate);
    const auto own = [&](ValueId id) {
      return graph.value(id).kind != ValueKind::grad && !others[static_cast<std::size_t>(id)];
    };
    const auto read = [&](ValueId id) { return updates[static_cast<std::size_t>(id)]; };
    parts[n] = rule && rule->role != PrecisionRole::matrix && !update &&
               std::all_of(node.outputs.begin(), node.outputs.end(), own) &&
               std::any_of(node.outputs.begin(), node.outputs.end(), read);
    for (ValueId id : node.inputs) (parts[n] || update ? updates : others)[static_cast<std::size_t>(id)] = true;
  }
  return parts;
}

class Rewriter {
 public:
  Rewriter(Graph& graph, const PassContext& context, PassResults& results)
      : graph_(graph), context_(context), results_(results), policy_(context.precision) {
    for (const Node& node : graph.nodes) names_.insert(node.name);
    // Values that are f32 in the graph as it came: only these change.
    for (const ValueInfo& info : graph.values) f32_.push_back(info.type.dtype == DType::f32);
  }

  void run() {
    const std::vector<bool> parts = update_parts(graph_);
    std::vector<Node> nodes = std::move(graph_.nodes);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      mark_named(nodes[n]);
      rewrite(std::move(nodes[n]), parts[n]);
    }
    for (Update& update : graph_.updates) update.next = as_given(update.next);
    for (Return& r : graph_.returns) r.value = as_given(r.value);
    graph_.nodes = std::move(made_);
    move_casts_into_producers();
    remove_dead_nodes(graph_);
    report_unused();
  }

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  DType dtype(ValueId id) const { return graph_.value(id).type.dtype; }
  bool changes(ValueId id) const { return at(id) < f32_.size() && f32_[at(id)]; }
  // Ops may have more operands than the mask has bits (l2_penalty): later ones count as ordinary.
  static bool wide(const PrecisionRule& rule, std::size_t operand) {
    return operand < 32 && (rule.wide >> operand & 1u) != 0;
  }

  // Keys of the user that match this op, whether or not there is a choice for it.
  void mark_named(const Node& node) {
    for (const std::string& key : policy_.keep) {
      if (in_scope(node.name, key)) used_.insert(key);
    }
    for (const PrecisionOverride& o : policy_.overrides) {
      if (o.by_name && is(node.name, o.key)) used_.insert(o.key);
    }
  }

  void rewrite(Node node, bool part_of_update) {
    const PrecisionRule* rule = find_precision_rule(node.op);
    const Types types = rule && !part_of_update ? types_of(node, *rule) : Types{};
    std::vector<ValueType> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      ValueId& id = node.inputs[i];
      if (changes(id)) id = in_type(id, rule && wide(*rule, i) ? DType::f32 : types.operands, node);
      inputs.push_back(graph_.value(id).type);
    }
    if (types.operands != DType::f32) {
      if (types.results != types.operands) node.attributes.set(std::string(kF32Results), true);
      const std::vector<ValueType> results = infer_types(op_def(node.op), inputs, node.attributes, node.name);
      for (std::size_t i = 0; i < results.size(); ++i) graph_.value(node.outputs[i]).type = results[i];
    }
    if (node.op == "constant") constants_[node.outputs[0]] = node.attributes.real("value");
    made_.push_back(std::move(node));
  }

  Types types_of(const Node& node, const PrecisionRule& rule) const {
    bool any = false;
    bool all_low = true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!changes(node.inputs[i]) || wide(rule, i) || constants_.contains(node.inputs[i])) continue;
      any = true;
      all_low = all_low && dtype(node.inputs[i]) != DType::f32;
    }
    if (!any || rule.role == PrecisionRole::fixed || kept(node)) return {};
    if (const PrecisionOverride* told = override_of(node)) {
      if (told->results != told->operands && !has_f32_results(node)) {
        throw Error("[precision] op " + node.name + " (" + node.op + ") gives results of the type of its operands; " +
                    "f32 results of " + std::string(name_of(told->operands)) + " operands are for " + matrix_ops());
      }
      return {told->operands, told->results};
    }
    return by_mode(node, rule, all_low);
  }

  Types by_mode(const Node& node, const PrecisionRule& rule, bool all_low) const {
    const bool matrix = rule.role == PrecisionRole::matrix;
    bool low = false;
    bool f32_results = matrix && rule.master_gradient;
    switch (policy_.rewrite) {
      case PrecisionRewrite::none: return {};
      case PrecisionRewrite::lists: {
        const auto moved = policy_.moved.find(node.op);
        const PrecisionList list = moved == policy_.moved.end() ? rule.list : moved->second;
        low = list == PrecisionList::white || (list == PrecisionList::gray && all_low);
        break;
      }
      case PrecisionRewrite::matrix: low = matrix || !takes(node.op, DType::f32); break;
      case PrecisionRewrite::matrix_f32_results:
        low = matrix;
        f32_results = matrix;
        break;
      case PrecisionRewrite::everything: low = true; break;
      case PrecisionRewrite::where_needed: low = !takes(node.op, DType::f32); break;
    }
    if (!low || !takes(node.op, policy_.low)) return {};
    return {policy_.low, f32_results ? DType::f32 : policy_.low};
  }

  bool takes(std::string_view op, DType type) const { return !context_.takes || context_.takes(op, type); }

  static bool has_f32_results(const Node& node) {
    const OpDef& def = op_def(node.op);
    return std::any_of(def.attributes.begin(), def.attributes.end(),
                       [](const AttributeSpec& spec) { return spec.name == kF32Results; });
  }

  static std::string matrix_ops() {
    std::string list;
    for (const PrecisionRule& rule : precision_rules()) {
      if (rule.role == PrecisionRole::matrix) list += (list.empty() ? "" : ", ") + std::string(rule.op);
    }
    return list;
  }

  // An op, or its copy for a part of the batch.
  static bool is(const std::string& name, const std::string& key) { return name == key || copied_from(name) == key; }
  // An op, or all of a scope or of an op's gradient: "fc" stands for fc, fc/dense and fc/dense/grad.
  static bool in_scope(const std::string& name, const std::string& key) {
    return name == key ||
           (name.size() > key.size() && name.starts_with(key) && (key.back() == '/' || name[key.size()] == '/'));
  }

  bool kept(const Node& node) const {
    const auto holds = [&](const std::string& key) { return in_scope(node.name, key); };
    return std::any_of(policy_.keep.begin(), policy_.keep.end(), holds) ||
           std::find(policy_.keep_ops.begin(), policy_.keep_ops.end(), node.op) != policy_.keep_ops.end();
  }

  const PrecisionOverride* override_of(const Node& node) const {
    const PrecisionOverride* found = nullptr;
    for (const PrecisionOverride& o : policy_.overrides) {
      if (o.by_name ? !is(node.name, o.key) : (o.key != node.op || found)) continue;
      found = &o;
      if (o.by_name) break;
    }
    return policy_.rewrite == PrecisionRewrite::none ? nullptr : found;
  }

  // An op with a result type as attribute directly returns the type that its only reader, a cast of this pass, makes of
  // it.
  void move_casts_into_producers() {
    const std::vector<int> producer = producers(graph_);
    const std::vector<int> uses = use_counts(graph_);
    for (const Node& cast : graph_.nodes) {
      if (!op_def(cast.op).has(kCast) || producer[at(cast.inputs[0])] < 0 || uses[at(cast.inputs[0])] != 1) continue;
      Node& maker = graph_.nodes[static_cast<std::size_t>(producer[at(cast.inputs[0])])];
      if (maker.op == cast.op || !maker.attributes.has("dtype") || !changes(cast.inputs[0]) ||
          at(cast.outputs[0]) < f32_.size()) {
        continue;
      }
      maker.attributes.set("dtype", cast.attributes.dtype("to"));
      graph_.value(cast.inputs[0]).type = graph_.value(cast.outputs[0]).type;
      graph_.replace_uses(cast.outputs[0], cast.inputs[0]);  // the cast reads itself and nobody reads it
    }
  }

  // Warns of names that neither this graph has nor the one that was divided over ranks.
  void report_unused() {
    std::vector<std::string> names(names_.begin(), names_.end());
    const auto check = [&](const std::string& key) {
      if (used_.contains(key)) return;
      const auto elsewhere = [&](const std::string& name) { return in_scope(name, key); };
      if (std::any_of(results_.undivided.begin(), results_.undivided.end(), elsewhere)) return;
      results_.warnings.push_back("precision: graph @" + graph_.name + " has no op or scope '" + key + "'" +
                                  did_you_mean(key, names));
    };
    for (const std::string& key : policy_.keep) check(key);
    for (const PrecisionOverride& o : policy_.overrides) {
      if (o.by_name && policy_.rewrite != PrecisionRewrite::none) check(o.key);
    }
  }

  // The f32 value of the graph as it came, in this type: a cast, made once, in front of its first reader.
  ValueId in_type(ValueId id, DType type, const Node& reader) {
    if (dtype(id) == type) return id;
    const auto [entry, is_new] = casts_.try_emplace({id, type}, kNoValue);
    if (is_new) entry->second = add_cast(id, type, reader.name, reader.where);
    return entry->second;
  }

  ValueId as_given(ValueId id) {
    if (!changes(id) || dtype(id) == DType::f32) return id;
    const auto [entry, is_new] = casts_.try_emplace({id, DType::f32}, kNoValue);
    if (is_new) entry->second = add_cast(id, DType::f32, "result", {});
    return entry->second;
  }

  ValueId add_cast(ValueId id, DType type, const std::string& reader, const LocationStack& where) {
    const ValueInfo from = graph_.value(id);
    const ValueKind kind = from.kind == ValueKind::grad ? ValueKind::grad : ValueKind::activation;
    const ValueId made = graph_.add_value({{type, from.type.shape}, kind, ""});
    Node node;
    node.op = "cast";
    node.inputs = {id};
    node.attributes = {{"to", type}};
    if (const auto constant = constants_.find(id); constant != constants_.end()) {
      Tensor rounded(type, Shape{});
      rounded.set(0, constant->second);
      node.op = "constant";
      node.inputs.clear();
      node.attributes = {{"value", rounded.at(0)}, {"dtype", type}};
    }
    node.outputs = {made};
    // After the argument, or after the op that reads it first.
    node.name = add_unique(names_, (from.name.empty() ? reader : from.name) + "/" + std::string(name_of(type)));
    node.where = where;
    made_.push_back(std::move(node));
    return made;
  }

  Graph& graph_;
  const PassContext& context_;
  PassResults& results_;
  const PrecisionPolicy& policy_;
  NameSet names_;          // of nodes
  std::vector<bool> f32_;  // by value of the graph as it came
  std::vector<Node> made_;
  std::map<std::pair<ValueId, DType>, ValueId> casts_;
  std::map<ValueId, double> constants_;
  std::set<std::string> used_;  // what the user named and the graph has
};

}  // namespace

Graph precision(Graph graph, const PassContext& context, PassResults& results) {
  const PrecisionPolicy& policy = context.precision;
  if (policy.rewrite == PrecisionRewrite::none) return graph;
  Rewriter(graph, context, results).run();
  return graph;
}

}  // namespace ridgeline
