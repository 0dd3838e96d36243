#include "ridgeline/graph/grad/differentiate.h"

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/core/location_text.h"
#include "ridgeline/graph/grad/gradient.h"

namespace ridgeline {
namespace {

class Differentiation {
 public:
  Differentiation(Graph& graph, ValueId loss, std::span<const ValueId> with_respect_to)
      : graph_(graph),
        forward_nodes_(graph.nodes.size()),
        producer_(producers(graph)),
        contributions_(graph.values.size()) {
    for (const Node& node : graph.nodes) names_.insert(node.name);
    find_dependents(with_respect_to);
    if (!depends(loss)) return;
    GradientScope scope = scope_of(loss);
    const ValueId one = scope.constant(1.0, graph.value(loss).type.dtype);
    contributions_[index(loss)].push_back(one);
  }

  void run() {
    for (std::size_t i = forward_nodes_; i-- > 0;) visit(i);
  }

  // The sum of the gradients that have arrived at `value`, or kNoValue.
  ValueId gradient(ValueId value) {
    std::vector<ValueId>& terms = contributions_[index(value)];
    if (terms.empty()) return kNoValue;
    if (terms.size() > 1) {
      GradientScope scope = scope_of(value);
      ValueId sum = terms[0];
      for (std::size_t i = 1; i < terms.size(); ++i) sum = scope.apply("add", {sum, terms[i]});
      terms = {sum};
    }
    return terms[0];
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  bool depends(ValueId id) const { return depends_[index(id)]; }

  // Marks the values through which a requested value reaches the loss.
  void find_dependents(std::span<const ValueId> with_respect_to) {
    depends_.assign(graph_.values.size(), false);
    for (ValueId id : with_respect_to) depends_[index(id)] = true;
    for (const Node& node : graph_.nodes) {
      const GradientRule* rule = find_gradient(node.op);
      bool carries = false;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        // Through an op without a rule the dependence is kept, so that the user hears of it.
        const bool flows = rule == nullptr || !rule->refusal.empty() || rule->flows_to(i);
        carries = carries || (flows && depends(node.inputs[i]));
      }
      if (!carries) continue;
      for (ValueId id : node.outputs) {
        if (is_floating(graph_.value(id).type.dtype)) depends_[index(id)] = true;
      }
    }
  }

  // Nodes made for a value are named after the op that made it, or after the argument.
  GradientScope scope_of(ValueId value) {
    const int producer = producer_[index(value)];
    if (producer < 0) return {graph_, names_, graph_.value(value).name, {}};
    const Node& node = graph_.nodes[static_cast<std::size_t>(producer)];
    return {graph_, names_, node.name, node.where};
  }

  void visit(std::size_t node_index) {
    ForwardOp op;
    op.node = graph_.nodes[node_index];
    bool reached = false;
    for (ValueId id : op.node.outputs) {
      const bool here = depends(id) && !contributions_[index(id)].empty();
      op.gradients.push_back(here ? gradient(id) : kNoValue);
      reached = reached || here;
    }
    if (!reached) return;
    const GradientRule* rule = find_gradient(op.node.op);
    for (std::size_t i = 0; i < op.node.inputs.size(); ++i) {
      const bool flows = rule == nullptr || !rule->refusal.empty() || rule->flows_to(i);
      op.wanted.push_back(flows && depends(op.node.inputs[i]));
    }
    if (std::find(op.wanted.begin(), op.wanted.end(), true) == op.wanted.end()) return;
    if (rule == nullptr || !rule->refusal.empty()) refuse(op.node, rule);

    GradientScope scope(graph_, names_, op.node.name, op.node.where);
    const std::vector<ValueId> results = built(*rule, scope, op);
    RIDGELINE_CHECK(results.size() == op.node.inputs.size(), "gradient with another number of operands: " + op.node.op);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i] == kNoValue || !op.wanted[i]) continue;
      RIDGELINE_CHECK(graph_.value(results[i]).type == graph_.value(op.x(i)).type,
                      "gradient of another type: " + op.node.op);
      contributions_[index(op.x(i))].push_back(results[i]);
    }
  }

  // What a rule refuses is reported at the op's line.
  static std::vector<ValueId> built(const GradientRule& rule, GradientScope& scope, const ForwardOp& op) {
    try {
      return rule.build(scope, op);
    } catch (const Error& error) {
      if (op.node.where.empty()) throw;
      throw Error(error.what() + behind_message(op.node.where.front()), error.kind());
    }
  }

  [[noreturn]] static void refuse(const Node& node, const GradientRule* rule) {
    std::string text = "[" + node.op + "] \"" + node.name + "\" cannot be differentiated: ";
    text += rule == nullptr ? "the op has no gradient" : std::string(rule->refusal);
    throw Error(text + (node.where.empty() ? "" : behind_message(node.where.front())));
  }

  Graph& graph_;
  std::size_t forward_nodes_;
  std::vector<int> producer_;  // of the forward graph
  std::vector<bool> depends_;
  std::vector<std::vector<ValueId>> contributions_;
  std::set<std::string> names_;
};

}  // namespace

std::vector<ValueId> differentiate(Graph& graph, ValueId loss, std::span<const ValueId> with_respect_to) {
  const ValueType& type = graph.value(loss).type;
  if (type.shape.rank() != 0 || !is_floating(type.dtype)) {
    throw Error("only a floating scalar has gradients, the loss is " + type.to_string());
  }
  Differentiation differentiation(graph, loss, with_respect_to);
  differentiation.run();
  std::vector<ValueId> gradients;
  for (ValueId id : with_respect_to) gradients.push_back(differentiation.gradient(id));
  return gradients;
}

}  // namespace ridgeline
