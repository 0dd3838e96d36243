#include "ridgeline/graph/op/expand_loop.h"

#include <map>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {
namespace {

using loop::Kind;

// The op that is this one term over its operands in their order, found among the definitions.
std::string_view op_of(Kind kind) {
  static const std::map<Kind, std::string_view> ops = [] {
    std::map<Kind, std::string_view> found;
    for (const OpDef& def : all_ops()) {
      if (!def.has(kPointwise) || !def.attributes.empty()) continue;
      const loop::Expression expression = def.expression({});
      const loop::Term& last = expression.terms.back();
      const int operands = loop::arity(last.kind);
      if (operands == 0 || expression.terms.size() != static_cast<std::size_t>(operands) + 1) continue;
      const std::int32_t arguments[] = {last.a, last.b, last.c};
      bool in_order = true;
      for (int i = 0; i < operands; ++i) {
        in_order = in_order && expression.terms[static_cast<std::size_t>(arguments[i])].operand == i;
      }
      if (in_order) found.emplace(last.kind, def.name);
    }
    return found;
  }();
  const auto op = ops.find(kind);
  RIDGELINE_CHECK(op != ops.end(), "a term without an op of its own");
  return op->second;
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
      values.push_back(builder.apply_at(where, op_of(term.kind), {condition(term.a), number(term.b), number(term.c)}));
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
