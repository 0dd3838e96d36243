// ridgeline/graph/ir/op_def.h
//
// What the compiler knows of an op: operands, attributes, the rule for shapes and types, its plain reference
// implementation and its cost. The definitions themselves are in graph/op, one file per op or family, listed by name in
// graph/op/table.cpp; gradients are in graph/grad.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/core/tensor.h"
#include "ridgeline/graph/ir/arithmetic.h"
#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/loop/expression.h"

namespace ridgeline {

enum OpTrait : unsigned {
  kPointwise = 1u << 0,  // defined by `expression`; operands broadcast as in NumPy
  kReduction = 1u << 1,  // may end a fused loop
  kRandom = 1u << 2,     // draws by counter; keyed by the node's name (attribute "key" overrides)
  kView = 1u << 3,       // the result is operand 0 under another shape: same bytes in row-major order
  kUpdate = 1u << 4,     // result i is the next version of operand i: the planner gives both one address
  kCall = 1u << 5,
  kCast = 1u << 6,        // the result is operand 0 in another element type
  kCollective = 1u << 7,  // the ranks of a group do it together: once per node, in the same order on all ranks
  kStart = 1u << 8,       // begins an exchange; its result is in flight
  kDone = 1u << 9,        // ends the exchange of its operand
};

struct AttributeSpec {
  std::string name;
  Attribute example;                  // fixes the type
  std::optional<Attribute> fallback;  // the default; required when absent
  std::string meaning;
};

// What a rule sees of a node: operand types and the complete attributes (defaults filled in).
struct OpInstance {
  std::span<const ValueType> inputs;
  const Attributes& attributes;
  std::string_view name;
};

struct Cost {
  double flops = 0;  // multiply and add count as two
  double bytes = 0;  // each operand and result moved once
};

struct OpDef {
  std::string name;
  std::string formula;  // the formula, for docs and errors
  std::vector<std::string> operands;
  int min_operands = 0;  // optional operands are last; -1 in max_operands means any number
  int max_operands = 0;
  std::vector<std::string> results;
  std::vector<AttributeSpec> attributes;
  unsigned traits = 0;
  // Of an op that only compilation makes, after gradients and precision: the op into which it merges others, and whose
  // precision rules it follows. Empty: anybody may use the op.
  std::string made_of;
  int gradient_operand = -1;  // of an update: which operand is the gradient, for passes that exchange gradients
  // Of an update: how many of its first results are next versions. Empty: all of them.
  std::function<std::size_t(const Attributes&)> states;
  // Of an update with an attribute "expression": whether the expression may also give rounded copies of the next
  // states.
  bool writes_copies = false;
  // Types of the results. A user's mistake is an Error that starts with "[<op>] ".
  std::function<std::vector<ValueType>(const OpInstance&)> infer;
  // Plain loops over row-major tensors, accumulating in double; outputs are allocated with the inferred types.
  std::function<void(const OpInstance&, std::span<const Tensor> inputs, std::span<Tensor> outputs)> reference;
  // The type in which an instance computes, whatever types its values have. Empty: f64 if a floating value is f64, else
  // f32.
  std::function<Arithmetic(const OpInstance&, std::span<const ValueType> results)> arithmetic;
  // Empty: flops 0, bytes of operands and results.
  std::function<Cost(const OpInstance&, std::span<const ValueType> results)> cost;
  // A node that recomputes result 0 of `node`, if that can be cheaper than the op itself: it may read the other
  // results. Its formula is the same; whether its bits are depends on the kernels. It keeps the name.
  std::function<Node(const Node&)> again;
  // Of pointwise ops: the loop expressions of the results over the operands.
  std::function<loop::Expression(const Attributes&)> expression;

  bool has(OpTrait trait) const { return (traits & trait) != 0; }
};

// The definition, or nullptr. Defined in graph/op/table.cpp.
const OpDef* find_op(std::string_view name);
// The definition; an unknown name is an Error with the nearest known one.
const OpDef& op_def(std::string_view name);
// All definitions by name, for docs and the op table test.
std::span<const OpDef> all_ops();

// The attributes with defaults filled in; unknown names, missing ones and wrong types are Errors.
Attributes complete_attributes(const OpDef& def, const Attributes& given);
// Checks the operand count and runs the shape rule.
std::vector<ValueType> infer_types(const OpDef& def, std::span<const ValueType> inputs, const Attributes& complete,
                                   std::string_view node_name);
// How many of its first operands the node replaces by their next versions: none, where it is no update.
std::size_t updated_operands(const Node& node);
Arithmetic arithmetic_of(const OpDef& def, const OpInstance& op, std::span<const ValueType> results);
Cost cost_of(const Graph& graph, const Node& node);
// Runs the reference of one node on host tensors.
std::vector<Tensor> run_reference(const OpDef& def, std::span<const Tensor> inputs, const Attributes& complete,
                                  std::string_view node_name);

}  // namespace ridgeline
