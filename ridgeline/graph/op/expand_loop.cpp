#include "ridgeline/graph/op/expand_loop.h"

#include "ridgeline/core/error.h"

namespace ridgeline {
namespace {

using loop::Kind;

std::string_view op_of(Kind kind) {
  switch (kind) {
    case Kind::neg: return "neg";
    case Kind::abs: return "abs";
    case Kind::exp: return "exp";
    case Kind::log: return "log";
    case Kind::sqrt: return "sqrt";
    case Kind::floor: return "floor";
    case Kind::cos: return "cos";
    case Kind::sin: return "sin";
    case Kind::add: return "add";
    case Kind::sub: return "sub";
    case Kind::mul: return "mul";
    case Kind::div: return "div";
    case Kind::max: return "maximum";
    case Kind::min: return "minimum";
    case Kind::less: return "less";
    case Kind::less_equal: return "less_equal";
    case Kind::equal: return "equal";
    case Kind::select: return "select";
    default: RIDGELINE_CHECK(false, "a term without an op of its own");
  }
}

bool compares(Kind kind) { return kind == Kind::less || kind == Kind::less_equal || kind == Kind::equal; }

}  // namespace

std::vector<Value> expand_loop(const loop::Expression& expression, std::span<const Value> operands,
                               const Location& where) {
  RIDGELINE_CHECK(!operands.empty() && operands.size() == static_cast<std::size_t>(expression.operands),
                  "operand count of an expression");
  GraphBuilder& builder = operands.front().builder();
  const DType type = builder.graph().value(operands.front().id()).type.dtype;
  std::vector<Value> values;
  const auto kind_of = [&](std::int32_t term) { return expression.terms[static_cast<std::size_t>(term)].kind; };
  // A comparison is a bool in a graph and a number, 1 or 0, in an expression.
  const auto number = [&](std::int32_t term) {
    const Value value = values[static_cast<std::size_t>(term)];
    return compares(kind_of(term)) ? builder.apply_at(where, "cast", {value}, {{"to", type}}) : value;
  };
  const auto condition = [&](std::int32_t term) {
    const Value value = values[static_cast<std::size_t>(term)];
    return compares(kind_of(term)) ? value : builder.apply_at(where, "cast", {value}, {{"to", DType::boolean}});
  };
  for (const loop::Term& term : expression.terms) {
    if (term.kind == Kind::operand) {
      values.push_back(operands[static_cast<std::size_t>(term.operand)]);
    } else if (term.kind == Kind::constant) {
      values.push_back(builder.constant(term.value, type, where));
    } else if (term.kind == Kind::select) {
      values.push_back(builder.apply_at(where, "select", {condition(term.a), number(term.b), number(term.c)}));
    } else if (loop::arity(term.kind) == 1) {
      values.push_back(builder.apply_at(where, op_of(term.kind), {number(term.a)}));
    } else {
      values.push_back(builder.apply_at(where, op_of(term.kind), {number(term.a), number(term.b)}));
    }
  }
  std::vector<Value> results;
  for (const loop::Result& result : expression.results) {
    RIDGELINE_CHECK(result.ending == loop::Ending::store, "a sum is no pointwise op");
    results.push_back(number(result.term));
  }
  return results;
}

}  // namespace ridgeline
