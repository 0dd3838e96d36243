// ridgeline/graph/ir/graph.h
//
// The step graph: a static list of tensor ops in SSA form, in an order that respects their data. A plain value: copied,
// compared and rewritten by passes; it owns no tensors and keeps no run-time state.
//
// State is functional: a parameter or slot enters as an argument (version n), an op computes version n+1, and
// `updates` says which value replaces which argument when the step ends.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ridgeline/core/location.h"
#include "ridgeline/core/shape.h"
#include "ridgeline/graph/ir/attributes.h"

namespace ridgeline {

struct ValueType {
  DType dtype = DType::f32;
  Shape shape;
  // "f32[128,10]"
  std::string to_string() const { return std::string(name_of(dtype)) + shape.to_string(); }
  std::size_t bytes() const { return shape.bytes(size_of(dtype)); }
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

enum class ValueKind {
  input,       // bound by the caller at every run
  param,       // trainable, lives in the parameter store
  state,       // slots, statistics and counters: lives in the store, not trained
  grad,        // produced by differentiation
  activation,  // everything else
};
// Lives in the parameter store: a param or a state.
constexpr bool is_stored(ValueKind kind) { return kind == ValueKind::param || kind == ValueKind::state; }
std::string_view name_of(ValueKind kind);

using ValueId = std::int32_t;
constexpr ValueId kNoValue = -1;

struct ValueInfo {
  ValueType type;
  ValueKind kind = ValueKind::activation;
  std::string name;  // of arguments; empty for results of ops
};

struct Node {
  std::string op;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
  std::string name;     // fixed at construction, unique in the graph, survives passes: keys random numbers and reports
  LocationStack where;  // the user's lines, innermost first
};

struct Update {
  ValueId current = kNoValue;  // a param or state argument
  ValueId next = kNoValue;     // its value after the step
  friend bool operator==(const Update&, const Update&) = default;
};

struct Return {
  std::string name;
  ValueId value = kNoValue;
};

struct Graph {
  std::string name = "main";
  std::vector<ValueInfo> values;   // by ValueId
  std::vector<Node> nodes;         // producers before consumers
  std::vector<ValueId> arguments;  // inputs, parameters and states in the order of declaration
  std::vector<Update> updates;
  std::vector<Return> returns;
  std::map<std::string, Graph> functions;  // callees of `call` ops, by name

  const ValueInfo& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  ValueInfo& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }
  ValueId add_value(ValueInfo info);
  // The argument with this name, or kNoValue.
  ValueId find_argument(std::string_view name) const;
  // The returned value with this name, or kNoValue.
  ValueId find_return(std::string_view name) const;
  // Replaces every use of `from` (operands, updates, returns) by `to`.
  void replace_uses(ValueId from, ValueId to);
};

// Index of the node that produces each value; -1 for arguments.
std::vector<int> producers(const Graph& graph);
// How often each value is used by ops, updates and returns.
std::vector<int> use_counts(const Graph& graph);
// Drops nodes whose results nobody uses, keeping order, and values that nobody mentions (ids are renumbered).
void remove_dead_nodes(Graph& graph);

}  // namespace ridgeline
