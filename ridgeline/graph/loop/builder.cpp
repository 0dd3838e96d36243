#include "ridgeline/graph/loop/builder.h"

#include "ridgeline/core/error.h"
#include "ridgeline/graph/loop/evaluate.h"

namespace ridgeline::loop {
namespace {

Term make(Kind kind, std::int32_t a = -1, std::int32_t b = -1, std::int32_t c = -1) {
  Term term;
  term.kind = kind;
  term.a = a;
  term.b = b;
  term.c = c;
  return term;
}

}  // namespace

Expr Builder::operand(int index) {
  Term term = make(Kind::operand);
  term.operand = index;
  return add(term);
}

Expr Builder::constant(double value) {
  Term term = make(Kind::constant);
  term.value = value;
  return add(term);
}

Expr Builder::add(const Term& term) {
  terms_.push_back(term);
  return {link_, static_cast<std::int32_t>(terms_.size()) - 1};
}

std::int32_t Builder::term_of(Expr e) {
  if (e.is_number()) return constant(e.value_).term_;
  if (&e.builder() != this) throw Error("an Expr of another formula is used: each formula has terms of its own");
  return e.term_;
}

int Builder::end(Expr value, Ending ending, DType type) {
  results_.push_back({term_of(value), ending, type});
  return static_cast<int>(results_.size()) - 1;
}

// True when every value of the term is one of the type (bf16 or f16).
bool Builder::holds(std::int32_t term, DType type, std::span<const DType> operands) const {
  const Term& t = terms_[static_cast<std::size_t>(term)];
  const Kind round = type == DType::bf16 ? Kind::round_bf16 : Kind::round_f16;
  switch (t.kind) {
    case Kind::operand: {
      const DType stored = operands[static_cast<std::size_t>(t.operand)];
      return stored == type || stored == DType::u8 || stored == DType::boolean;  // bytes have 8 digits
    }
    case Kind::constant: {
      const auto value = static_cast<float>(t.value);
      return apply_primitive<float>(round, value, 0, 0) == value;
    }
    case Kind::neg:
    case Kind::abs: return holds(t.a, type, operands);
    case Kind::max:
    case Kind::min: return holds(t.a, type, operands) && holds(t.b, type, operands);
    case Kind::select: return holds(t.b, type, operands) && holds(t.c, type, operands);
    case Kind::less:
    case Kind::less_equal:
    case Kind::equal: return true;
    default: return t.kind == round;
  }
}

Expr Builder::rounded(Expr value, DType type, std::span<const DType> operands) {
  if (type != DType::bf16 && type != DType::f16) return value;
  const std::int32_t term = term_of(value);
  if (holds(term, type, operands)) return {link_, term};
  return apply(type == DType::bf16 ? Kind::round_bf16 : Kind::round_f16, {link_, term});
}

std::vector<Expr> Builder::paste(const Expression& expression, std::span<const Expr> operands) {
  RIDGELINE_CHECK(operands.size() == static_cast<std::size_t>(expression.operands),
                  "operand count of a pasted expression");
  std::vector<std::int32_t> renamed;
  for (Term term : expression.terms) {
    if (term.kind == Kind::operand) {
      renamed.push_back(term_of(operands[static_cast<std::size_t>(term.operand)]));
      continue;
    }
    for (std::int32_t* argument : {&term.a, &term.b, &term.c}) {
      if (*argument >= 0) *argument = renamed[static_cast<std::size_t>(*argument)];
    }
    renamed.push_back(add(term).term_);
  }
  std::vector<Expr> results;
  for (const Result& result : expression.results)
    results.emplace_back(link_, renamed[static_cast<std::size_t>(result.term)]);
  return results;
}

Expression Builder::finish(int operands) const {
  Expression expression;
  expression.operands = operands;
  expression.terms = terms_;
  expression.results = results_;
  return canonical(expression);
}

Builder& Expr::builder() const {
  if (is_number())
    throw Error("a loop function of plain numbers: compute it before, or with a term of the formula beside them");
  if (*link_ == nullptr) throw Error("an Expr is used whose formula is finished: each formula has terms of its own");
  return **link_;
}

namespace {

void check_arity(Kind kind, int arguments) {
  RIDGELINE_CHECK(arity(kind) == arguments, "a loop function of another number of arguments");
}

}  // namespace

Expr apply(Kind kind, Expr a) {
  check_arity(kind, 1);
  return a.builder().add(make(kind, a.term_));
}

Expr apply(Kind kind, Expr a, Expr b) {
  check_arity(kind, 2);
  Builder& builder = (a.is_number() ? b : a).builder();
  const std::int32_t first = builder.term_of(a);
  return builder.add(make(kind, first, builder.term_of(b)));
}

Expr apply(Kind kind, Expr a, Expr b, Expr c) {
  check_arity(kind, 3);
  Builder& builder = (!a.is_number() ? a : !b.is_number() ? b : c).builder();
  const std::int32_t first = builder.term_of(a);
  const std::int32_t second = builder.term_of(b);
  return builder.add(make(kind, first, second, builder.term_of(c)));
}

Expr uniform(Expr step, std::uint64_t key) {
  Builder& builder = step.builder();
  Term term = make(Kind::random_uniform, step.term_);
  term.key = key;
  return builder.add(term);
}

Expr paste(const Expression& expression, Expr operand) {
  RIDGELINE_CHECK(expression.results.size() == 1, "a pasted expression of several results");
  return operand.builder().paste(expression, {&operand, 1}).front();
}

}  // namespace ridgeline::loop
