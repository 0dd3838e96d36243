#include "ridgeline/graph/loop/expression.h"

#include <map>
#include <tuple>

#include "ridgeline/core/error.h"

namespace ridgeline::loop {
namespace {

auto sort_key(const Term& t) {
  return std::make_tuple(t.kind, t.a, t.b, t.c, t.operand, t.key, std::bit_cast<std::uint64_t>(t.value));
}

}  // namespace

Expression canonical(const Expression& expression) {
  check(expression);
  Expression out;
  out.operands = expression.operands;
  std::map<decltype(sort_key(Term{})), std::int32_t> known;
  std::vector<std::int32_t> renamed(expression.terms.size(), -1);
  std::vector<std::int32_t> stack;
  for (const Result& result : expression.results) {
    stack.push_back(result.term);
    while (!stack.empty()) {
      const auto at = static_cast<std::size_t>(stack.back());
      if (renamed[at] >= 0) {
        stack.pop_back();
        continue;
      }
      Term term = expression.terms[at];
      std::int32_t* const arguments[] = {&term.a, &term.b, &term.c};
      const int count = arity(term.kind);
      const std::size_t depth = stack.size();
      for (int i = count - 1; i >= 0; --i) {
        if (renamed[static_cast<std::size_t>(*arguments[i])] < 0) stack.push_back(*arguments[i]);
      }
      if (stack.size() != depth) continue;  // arguments first
      for (int i = 0; i < count; ++i) *arguments[i] = renamed[static_cast<std::size_t>(*arguments[i])];
      const auto [entry, fresh] = known.emplace(sort_key(term), static_cast<std::int32_t>(out.terms.size()));
      if (fresh) out.terms.push_back(term);
      renamed[at] = entry->second;
      stack.pop_back();
    }
    out.results.push_back({renamed[static_cast<std::size_t>(result.term)], result.ending, result.type});
  }
  return out;
}

void check(const Expression& expression) {
  const auto size = static_cast<std::int32_t>(expression.terms.size());
  for (std::int32_t i = 0; i < size; ++i) {
    const Term& term = expression.terms[static_cast<std::size_t>(i)];
    const std::int32_t arguments[] = {term.a, term.b, term.c};
    for (int k = 0; k < 3; ++k) {
      if (k < arity(term.kind)) {
        RIDGELINE_CHECK(arguments[k] >= 0 && arguments[k] < i, "a loop term refers to no earlier one");
      } else {
        RIDGELINE_CHECK(arguments[k] == -1, "a loop term has too many arguments");
      }
    }
    if (term.kind == Kind::operand) {
      RIDGELINE_CHECK(term.operand >= 0 && term.operand < expression.operands, "loop operand out of range");
    }
    if (term.kind == Kind::random_uniform) {
      RIDGELINE_CHECK(expression.terms[static_cast<std::size_t>(term.a)].kind == Kind::operand,
                      "the step of a random number is no operand");
    }
  }
  for (const Result& result : expression.results) {
    RIDGELINE_CHECK(result.term >= 0 && result.term < size, "a loop result is no term");
  }
}

}  // namespace ridgeline::loop
