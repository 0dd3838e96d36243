#include "ridgeline/graph/pass/fuse_pointwise.h"

#include <algorithm>
#include <map>

#include "ridgeline/core/error.h"
#include "ridgeline/core/tensor.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/loop/builder.h"
#include "ridgeline/graph/loop/text.h"
#include "ridgeline/graph/op/pointwise.h"

namespace ridgeline {
namespace {

using loop::Builder;
using loop::Expr;
using loop::Expression;

class Fuser {
 public:
  Fuser(Graph& graph, const PassContext& context, PassResults& results)
      : graph_(graph),
        context_(context),
        results_(results),
        limits_(context.fusion.loop),
        readers_(graph.values.size()),
        outside_(graph.values.size(), false),
        group_(graph.nodes.size(), -1),
        overwriting_(graph.nodes.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (ValueId id : graph.nodes[i].inputs) readers_[at(id)].push_back(static_cast<int>(i));
    }
    for (const Return& r : graph.returns) outside_[at(r.value)] = true;
    const std::vector<int> producer = producers(graph);
    for (const Update& update : graph.updates) {
      outside_[at(update.next)] = true;
      replaces_[update.next] = update.current;
      if (const int node = producer[at(update.next)]; node >= 0) {
        overwriting_[static_cast<std::size_t>(node)].push_back(update.current);
      }
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      for (std::size_t k = 0; k < updated_operands(node); ++k) overwriting_[i].push_back(node.inputs[k]);
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (node.op == "constant" && loop::kLoopStorage.contains(graph.value(node.outputs[0]).type.dtype)) {
        Tensor stored(graph.value(node.outputs[0]).type.dtype, Shape{});
        stored.set(0, node.attributes.real("value"));
        constants_[node.outputs[0]] = stored.dtype() == DType::f32 ? node.attributes.real("value") : stored.at(0);
      }
      fusable_.push_back(can_fuse(static_cast<int>(i)));
    }
  }

  void run() {
    for (int sink = static_cast<int>(graph_.nodes.size()) - 1; sink >= 0; --sink) {
      if (group_[static_cast<std::size_t>(sink)] < 0 &&
          (fusable_[static_cast<std::size_t>(sink)] || is_full_sum(sink))) {
        grow(sink);
      }
    }
    for (const std::vector<int>& members : groups_) replace(members);
    graph_.nodes.erase(
        std::remove_if(graph_.nodes.begin(), graph_.nodes.end(), [](const Node& n) { return n.op.empty(); }),
        graph_.nodes.end());
    remove_dead_nodes(graph_);
  }

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  const Node& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }
  const ValueType& type(ValueId id) const { return graph_.value(id).type; }

  bool is_full_sum(int i) const {
    const Node& n = node(i);
    if (n.op != "reduce_sum" || !limits_.sums || context_.keep_apart.contains(n.name)) return false;
    // A loop's sum is f32: one that is stored in another type stays an op.
    if (!limits_.inputs.contains(type(n.inputs[0]).dtype) || type(n.outputs[0]).dtype != DType::f32) return false;
    return type(n.outputs[0]).shape.rank() == 0 && type(n.inputs[0]).shape.rank() > 0;
  }

  // Pointwise over types that a loop can hold. A bool must stay inside its group: see `may_join`.
  bool can_fuse(int i) const {
    const Node& n = node(i);
    const OpDef& def = op_def(n.op);
    if (!def.has(kPointwise) || n.op == "constant" || context_.keep_apart.contains(n.name)) return false;
    const Expression expression = def.expression(n.attributes);
    for (const loop::Result& r : expression.results) {
      if (r.ending != loop::Ending::store) return false;
    }
    std::vector<ValueType> inputs;
    std::vector<ValueType> results;
    for (ValueId id : n.inputs) inputs.push_back(type(id));
    for (ValueId id : n.outputs) results.push_back(type(id));
    if (arithmetic_of(def, {inputs, n.attributes, n.name}, results) != Arithmetic::f32) return false;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      if (!limits_.inputs.contains(inputs[k].dtype) && !only_a_step(expression, static_cast<int>(k))) return false;
    }
    for (ValueId id : n.outputs) {
      const DType t = type(id).dtype;
      if (!limits_.results.contains(t) && t != DType::boolean) return false;
      // A number becomes a bool by a test that loops do not have.
      if (t == DType::boolean && n.op == "cast" && type(n.inputs[0]).dtype != DType::boolean) return false;
      if (type(id).shape != type(n.outputs[0]).shape) return false;
    }
    // Random numbers count the loop's own elements: x must be the whole loop.
    return !def.has(kRandom) || type(n.inputs[0]).shape == type(n.outputs[0]).shape;
  }

  // Same shape, one element, or a vector along the last axis: what loops read without gathering.
  static bool reads_well(const ValueType& operand, const Shape& loop) {
    if (operand.shape == loop || operand.shape.elements() == 1) return true;
    return operand.shape.rank() >= 1 && operand.shape.elements() == operand.shape[-1] && loop.rank() >= 1 &&
           operand.shape[-1] == loop[-1];
  }

  // Node `p` (before `sink`, not yet in the group) may be computed at the sink's place with the group.
  bool may_join(int p, int sink, const Shape& shape) const {
    const Node& n = node(p);
    bool read_inside = false;
    for (ValueId id : n.outputs) {
      if (type(id).shape != shape) return false;
      for (int reader : readers_[at(id)]) {
        if (in_group(reader, sink)) {
          read_inside = true;
          continue;
        }
        // Others wait until the sink has run.
        if (reader < sink || type(id).dtype == DType::boolean) return false;
      }
      if (outside_[at(id)] && type(id).dtype == DType::boolean) return false;
    }
    if (!read_inside) return false;
    for (ValueId id : n.inputs) {
      if (!reads_well(type(id), shape)) return false;
    }
    // No other op between p and the sink may overwrite what p reads.
    for (int between = p + 1; between <= sink; ++between) {
      if (in_group(between, sink)) continue;
      for (ValueId id : overwriting_[static_cast<std::size_t>(between)]) {
        if (std::find(n.inputs.begin(), n.inputs.end(), id) != n.inputs.end()) return false;
      }
    }
    return true;
  }

  bool in_group(int i, int sink) const { return group_[static_cast<std::size_t>(i)] == sink; }

  void grow(int sink) {
    const Node& last = node(sink);
    const Shape shape = is_full_sum(sink) ? type(last.inputs[0]).shape : type(last.outputs[0]).shape;
    for (ValueId id : last.inputs) {
      if (!reads_well(type(id), shape)) return;
    }
    for (ValueId id : last.outputs) {
      if (type(id).dtype == DType::boolean) return;
    }
    std::vector<int> members = {sink};
    group_[static_cast<std::size_t>(sink)] = sink;
    for (int p = sink - 1; p >= 0; --p) {
      const bool free = group_[static_cast<std::size_t>(p)] < 0 && fusable_[static_cast<std::size_t>(p)];
      if (!free || !may_join(p, sink, shape)) continue;
      group_[static_cast<std::size_t>(p)] = sink;
      members.insert(members.begin(), p);
      if (!fits(members)) {
        group_[static_cast<std::size_t>(p)] = -1;
        members.erase(members.begin());
        break;
      }
    }
    // A single op saves only its constants, and cannot be made smaller where it does not fit.
    const bool constant =
        std::any_of(last.inputs.begin(), last.inputs.end(), [&](ValueId id) { return constants_.contains(id); });
    if (members.size() == 1 && (!constant || !fits(members))) {
      group_[static_cast<std::size_t>(sink)] = -1;
      return;
    }
    groups_.push_back(std::move(members));
  }

  struct Loop {
    std::vector<ValueId> operands;
    std::vector<ValueId> results;
    Expression expression;
  };

  bool fits(const std::vector<int>& members) const {
    const Loop loop = glue(members);
    return loop.expression.terms.size() <= limits_.terms && loop.operands.size() <= limits_.operands;
  }

  // The members' expressions as one, producers pasted into their readers.
  Loop glue(const std::vector<int>& members) const {
    const int sink = members.back();
    Loop loop;
    const auto is_member = [&](int i) { return std::binary_search(members.begin(), members.end(), i); };
    std::vector<ValueId> made;
    std::vector<ValueId> kept;
    for (int m : members) {
      for (ValueId id : node(m).outputs) {
        made.push_back(id);
        const std::vector<int>& readers = readers_[at(id)];
        if (outside_[at(id)] || std::any_of(readers.begin(), readers.end(), [&](int r) { return !is_member(r); })) {
          kept.push_back(id);
        }
      }
    }
    const auto read = [&](ValueId wanted) {
      return std::any_of(members.begin(), members.end(), [&](int m) {
        return std::find(node(m).inputs.begin(), node(m).inputs.end(), wanted) != node(m).inputs.end();
      });
    };
    // Updates first, result i beside operand i.
    for (ValueId id : kept) {
      const auto current = replaces_.find(id);
      if (current == replaces_.end() || !read(current->second)) continue;
      loop.results.push_back(id);
      loop.operands.push_back(current->second);
    }
    for (ValueId id : kept) {
      if (std::find(loop.results.begin(), loop.results.end(), id) == loop.results.end()) loop.results.push_back(id);
    }
    Builder builder;
    std::map<ValueId, Expr> values;  // as others read them: rounded to their types
    std::map<ValueId, Expr> stored;  // as they are stored, which rounds
    std::vector<DType> types;        // of operands
    for (ValueId id : loop.operands) types.push_back(type(id).dtype);
    const auto operand = [&](ValueId id) {
      if (const auto constant = constants_.find(id); constant != constants_.end())
        return builder.constant(constant->second);
      const auto found = std::find(loop.operands.begin(), loop.operands.end(), id);
      const auto index = static_cast<int>(found - loop.operands.begin());
      if (found == loop.operands.end()) {
        loop.operands.push_back(id);
        types.push_back(type(id).dtype);
      }
      return builder.operand(index);
    };
    for (int m : members) {
      const Node& n = node(m);
      std::vector<Expr> inputs;
      for (ValueId id : n.inputs) {
        const auto inside = values.find(id);
        inputs.push_back(inside != values.end() ? inside->second : operand(id));
      }
      if (m == sink && is_full_sum(m)) {
        values.emplace(n.outputs[0], inputs[0]);
        continue;
      }
      Expression expression = op_def(n.op).expression(n.attributes);
      expression.operands = static_cast<std::int32_t>(inputs.size());
      const std::vector<Expr> results = builder.paste(expression, inputs);
      for (std::size_t k = 0; k < results.size(); ++k) {
        stored.emplace(n.outputs[k], results[k]);
        values.emplace(n.outputs[k], builder.rounded(results[k], type(n.outputs[k]).dtype, types));
      }
    }
    for (ValueId id : loop.results) {
      const bool sum = is_full_sum(sink) && id == node(sink).outputs[0];
      if (sum)
        builder.sum(values.at(id));
      else
        builder.store(stored.at(id), type(id).dtype);
    }
    loop.expression = builder.finish(static_cast<int>(loop.operands.size()));
    return loop;
  }

  void replace(const std::vector<int>& members) {
    Loop loop = glue(members);
    const Shape shape = is_full_sum(members.back()) ? type(node(members.back()).inputs[0]).shape
                                                    : type(node(members.back()).outputs[0]).shape;
    renumber(loop, shape);
    Node fused;
    fused.op = "loop";
    fused.inputs = std::move(loop.operands);
    fused.outputs = std::move(loop.results);
    fused.attributes.set("expression", loop::to_string(loop.expression));
    fused.name = node(members.back()).name;
    results_.fused.insert(fused.name);
    std::vector<std::string>& names = results_.loops[fused.name];
    names.clear();
    for (int m : members) names.push_back(node(m).name);
    for (auto m = members.rbegin(); m != members.rend(); ++m) {
      for (const Location& where : node(*m).where) {
        if (std::find(fused.where.begin(), fused.where.end(), where) == fused.where.end()) fused.where.push_back(where);
      }
    }
    for (int m : members) graph_.nodes[static_cast<std::size_t>(m)] = Node{};  // swept by run()
    graph_.nodes[static_cast<std::size_t>(members.back())] = std::move(fused);
  }

  // Numbers the operands in the order in which the expression mentions them, after those that results replace.
  // Unmentioned ones are dropped, unless the loop takes its shape from them.
  void renumber(Loop& loop, const Shape& shape) const {
    std::vector<std::int32_t> order;
    for (std::size_t i = 0; i < loop.results.size() && i < loop.operands.size(); ++i) {
      const auto current = replaces_.find(loop.results[i]);
      if (current == replaces_.end() || current->second != loop.operands[i]) break;
      order.push_back(static_cast<std::int32_t>(i));
    }
    for (const loop::Term& t : loop.expression.terms) {
      if (t.kind == loop::Kind::operand && std::find(order.begin(), order.end(), t.operand) == order.end()) {
        order.push_back(t.operand);
      }
    }
    std::vector<std::int32_t> renumbered(loop.operands.size(), -1);
    std::vector<ValueId> operands;
    std::vector<ValueType> types;
    for (std::int32_t old : order) {
      renumbered[static_cast<std::size_t>(old)] = static_cast<std::int32_t>(operands.size());
      operands.push_back(loop.operands[static_cast<std::size_t>(old)]);
      types.push_back(type(operands.back()));
    }
    if (broadcast_shape("loop", types) != shape) return;
    for (loop::Term& t : loop.expression.terms) {
      if (t.kind == loop::Kind::operand) t.operand = renumbered[static_cast<std::size_t>(t.operand)];
    }
    loop.operands = std::move(operands);
    loop.expression.operands = static_cast<std::int32_t>(loop.operands.size());
  }

  Graph& graph_;
  const PassContext& context_;
  PassResults& results_;
  const LoopLimits& limits_;
  std::vector<std::vector<int>> readers_;          // by value: the nodes that read it
  std::vector<bool> outside_;                      // by value: returned, or the next version of something
  std::vector<int> group_;                         // by node: the sink of its group, or -1
  std::vector<std::vector<ValueId>> overwriting_;  // by node: the arguments whose memory its results take
  std::map<ValueId, ValueId> replaces_;            // next version -> argument
  std::map<ValueId, double> constants_;            // scalars known now
  std::vector<bool> fusable_;                      // by node
  std::vector<std::vector<int>> groups_;
};

}  // namespace

Graph fuse_pointwise(Graph graph, const PassContext& context, PassResults& results) {
  Fuser(graph, context, results).run();
  return graph;
}

}  // namespace ridgeline
