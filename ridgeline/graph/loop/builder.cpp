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
  return {this, static_cast<std::int32_t>(terms_.size()) - 1};
}

std::int32_t Builder::term_of(Expr e) {
  if (e.builder_ == nullptr) return constant(e.value_).term_;
  RIDGELINE_CHECK(e.builder_ == this, "an Expr of another builder");
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
  if (holds(term, type, operands)) return {this, term};
  return apply(type == DType::bf16 ? Kind::round_bf16 : Kind::round_f16, {this, term});
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
    results.emplace_back(this, renamed[static_cast<std::size_t>(result.term)]);
  return results;
}

Expression Builder::finish(int operands) const {
  Expression expression;
  expression.operands = operands;
  expression.terms = terms_;
  expression.results = results_;
  return canonical(expression);
}

Expr apply(Kind kind, Expr a) {
  RIDGELINE_CHECK(a.builder_ != nullptr && arity(kind) == 1, "a loop function of a plain number");
  return a.builder_->add(make(kind, a.term_));
}

Expr apply(Kind kind, Expr a, Expr b) {
  Builder* builder = a.builder_ != nullptr ? a.builder_ : b.builder_;
  RIDGELINE_CHECK(builder != nullptr && arity(kind) == 2, "a loop function of plain numbers");
  const std::int32_t first = builder->term_of(a);
  return builder->add(make(kind, first, builder->term_of(b)));
}

Expr apply(Kind kind, Expr a, Expr b, Expr c) {
  Builder* builder = a.builder_ != nullptr ? a.builder_ : b.builder_ != nullptr ? b.builder_ : c.builder_;
  RIDGELINE_CHECK(builder != nullptr && arity(kind) == 3, "a loop function of plain numbers");
  const std::int32_t first = builder->term_of(a);
  const std::int32_t second = builder->term_of(b);
  return builder->add(make(kind, first, second, builder->term_of(c)));
}

Expr uniform(Expr step, std::uint64_t key) {
  RIDGELINE_CHECK(step.builder_ != nullptr, "the step of a random number is no operand");
  Term term = make(Kind::random_uniform, step.term_);
  term.key = key;
  return step.builder_->add(term);
}

Expr paste(const Expression& expression, Expr operand) {
  RIDGELINE_CHECK(operand.builder_ != nullptr && expression.results.size() == 1, "an expression pasted at a number");
  return operand.builder_->paste(expression, {&operand, 1}).front();
}

}  // namespace ridgeline::loop
