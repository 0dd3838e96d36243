// ridgeline/graph/grad/gradient.h
//
// Adds the gradient of one op to a graph. A gradient builder adds nodes that compute, from the gradients of an op's
// results, those of its operands. The builders are listed by op in graph/grad/table.cpp; differentiate.h applies them.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

// The op that is differentiated, and functions that add nodes to its graph. Lives during one differentiation.
class GradientScope {
 public:
  // `names` holds the names of all nodes of `graph` and is kept up to date.
  GradientScope(Graph& graph, std::set<std::string>& names, std::string name, LocationStack where)
      : graph_(graph), names_(names), name_(std::move(name)), where_(std::move(where)) {}

  // Adds a node named "<name>/grad" (made unique) at the forward op's location; its results have kind grad.
  std::vector<ValueId> apply_all(std::string_view op, std::vector<ValueId> inputs, const Attributes& attributes = {});
  ValueId apply(std::string_view op, std::vector<ValueId> inputs, const Attributes& attributes = {}) {
    return apply_all(op, std::move(inputs), attributes).front();
  }
  ValueId constant(double value, DType dtype) { return apply("constant", {}, {{"value", value}, {"dtype", dtype}}); }

  // Returned by value: adding a node may move the graph's values.
  ValueType type(ValueId id) const { return graph_.value(id).type; }
  Shape shape(ValueId id) const { return type(id).shape; }
  // `gradient`, summed over the axes along which `shape` was broadcast to the gradient's shape.
  ValueId unbroadcast(ValueId gradient, const Shape& shape);

 private:
  Graph& graph_;
  std::set<std::string>& names_;
  std::string name_;
  LocationStack where_;
};

// One op of the forward graph, as its builder sees it.
struct ForwardOp {
  Node node;                       // a copy: the graph grows while the builder works
  std::vector<ValueId> gradients;  // of the results; kNoValue where the loss does not depend on them
  std::vector<bool> wanted;        // by operand: whether its gradient is wanted

  ValueId x(std::size_t i) const { return node.inputs[i]; }
  ValueId y(std::size_t i = 0) const { return node.outputs[i]; }
  ValueId dy(std::size_t i = 0) const { return gradients[i]; }
  bool has_dy(std::size_t i) const { return gradients[i] != kNoValue; }
};

// Returns the gradient of each operand; kNoValue where it is not wanted or there is none.
using GradientBuilder = std::vector<ValueId> (*)(GradientScope& scope, const ForwardOp& op);

struct GradientRule {
  std::string_view op;
  GradientBuilder build = nullptr;  // none: nothing flows back through the op
  // By operand: whether its gradient exists; operands beyond the list have one. Labels, masks and counters have none.
  std::vector<bool> flows = {};
  std::string_view refusal = {};  // when not empty: differentiating through the op is an Error with this reason

  bool flows_to(std::size_t operand) const { return build != nullptr && (operand >= flows.size() || flows[operand]); }
};

// All rules, one an op, ordered by name.
std::span<const GradientRule> gradient_rules();
// The rule of an op, or nullptr.
const GradientRule* find_gradient(std::string_view op);

}  // namespace ridgeline
