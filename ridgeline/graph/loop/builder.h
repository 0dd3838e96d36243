// ridgeline/graph/loop/builder.h
//
// Writes loop expressions as C++ expressions: max(x, 0), select(y > 0, dy, 0). A Builder owns the terms; an Expr is a
// handle to one of them (or a plain number) and finds its builder by a link. Using an Expr in another builder, or after
// its own has finished, is an Error. Not for use by several threads.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ridgeline/graph/loop/expression.h"

namespace ridgeline::loop {

class Builder;

class Expr {
 public:
  template <class Number>
    requires std::integral<Number> || std::floating_point<Number>
  Expr(Number value) : value_(static_cast<double>(value)) {}  // NOLINT(google-explicit-constructor): numbers mix in
  Expr(std::shared_ptr<Builder* const> link, std::int32_t term) : link_(std::move(link)), term_(term) {}

 private:
  friend class Builder;
  bool is_number() const { return link_ == nullptr; }
  Builder& builder() const;
  std::shared_ptr<Builder* const> link_;  // to the builder, null once that is gone; empty: the number `value_`
  std::int32_t term_ = -1;
  double value_ = 0;
  friend Expr apply(Kind kind, Expr a);
  friend Expr apply(Kind kind, Expr a, Expr b);
  friend Expr apply(Kind kind, Expr a, Expr b, Expr c);
  friend Expr uniform(Expr step, std::uint64_t key);
  friend Expr paste(const Expression& expression, Expr operand);
};

class Builder {
 public:
  Builder() = default;
  ~Builder() { *link_ = nullptr; }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  Expr operand(int index);
  Expr constant(double value);
  // Copies an expression's terms, with `operands` in place of its operands; returns one Expr per result, without
  // endings.
  std::vector<Expr> paste(const Expression& expression, std::span<const Expr> operands);
  // Adds a result; its index.
  int store(Expr value, DType type = DType::f32) { return end(value, Ending::store, type); }
  int sum(Expr value) { return end(value, Ending::sum, DType::f32); }
  // The value rounded as if stored in this type: itself if that changes nothing, such as operand i, stored as
  // operands[i].
  Expr rounded(Expr value, DType type, std::span<const DType> operands);
  // The canonical expression of the results so far over `operands` operands.
  Expression finish(int operands) const;
  // Number of terms so far, merged ones counted once only after finish().
  std::size_t size() const { return terms_.size(); }

 private:
  friend Expr apply(Kind kind, Expr a);
  friend Expr apply(Kind kind, Expr a, Expr b);
  friend Expr apply(Kind kind, Expr a, Expr b, Expr c);
  friend Expr uniform(Expr step, std::uint64_t key);
  Expr add(const Term& term);
  std::int32_t term_of(Expr e);
  int end(Expr value, Ending ending, DType type);
  bool holds(std::int32_t term, DType type, std::span<const DType> operands) const;

  std::shared_ptr<Builder*> link_ = std::make_shared<Builder*>(this);
  std::vector<Term> terms_;
  std::vector<Result> results_;
};

// A plain number beside a term becomes a constant; numbers alone are an Error.
Expr apply(Kind kind, Expr a);
Expr apply(Kind kind, Expr a, Expr b);
Expr apply(Kind kind, Expr a, Expr b, Expr c);

inline Expr operator-(Expr x) { return apply(Kind::neg, x); }
inline Expr abs(Expr x) { return apply(Kind::abs, x); }
inline Expr exp(Expr x) { return apply(Kind::exp, x); }
inline Expr log(Expr x) { return apply(Kind::log, x); }
inline Expr sqrt(Expr x) { return apply(Kind::sqrt, x); }
inline Expr floor(Expr x) { return apply(Kind::floor, x); }
inline Expr cos(Expr x) { return apply(Kind::cos, x); }
inline Expr sin(Expr x) { return apply(Kind::sin, x); }
inline Expr operator+(Expr x, Expr y) { return apply(Kind::add, x, y); }
inline Expr operator-(Expr x, Expr y) { return apply(Kind::sub, x, y); }
inline Expr operator*(Expr x, Expr y) { return apply(Kind::mul, x, y); }
inline Expr operator/(Expr x, Expr y) { return apply(Kind::div, x, y); }
// NaN if either is; of equal values (zeros of both signs) the second.
inline Expr max(Expr x, Expr y) { return apply(Kind::max, x, y); }
inline Expr min(Expr x, Expr y) { return apply(Kind::min, x, y); }
// 1 or 0; 0 where a side is NaN.
inline Expr operator<(Expr x, Expr y) { return apply(Kind::less, x, y); }
inline Expr operator<=(Expr x, Expr y) { return apply(Kind::less_equal, x, y); }
inline Expr operator>(Expr x, Expr y) { return apply(Kind::less, y, x); }
inline Expr operator>=(Expr x, Expr y) { return apply(Kind::less_equal, y, x); }
inline Expr operator==(Expr x, Expr y) { return apply(Kind::equal, x, y); }
inline Expr select(Expr c, Expr a, Expr b) { return apply(Kind::select, c, a, b); }
// In [0, 1), a function of (key, step, element index); `step` is an operand.
Expr uniform(Expr step, std::uint64_t key);

// The result of an expression with one operand and one result, with `operand` in place of its operand.
Expr paste(const Expression& expression, Expr operand);

// The expression of a C++ function of N Exprs that returns one Expr or a std::vector<Expr>, all stored.
template <int N, class F>
Expression define(const F& body) {
  Builder builder;
  const auto call = [&]<std::size_t... I>(std::index_sequence<I...>) {
    // Operands in order, whatever the order of evaluation of arguments.
    const std::array<Expr, sizeof...(I)> x{builder.operand(static_cast<int>(I))...};
    return body(x[I]...);
  };
  const auto results = call(std::make_index_sequence<N>());
  if constexpr (std::same_as<std::remove_cvref_t<decltype(results)>, Expr>) {
    builder.store(results);
  } else {
    for (Expr result : results) builder.store(result);
  }
  return builder.finish(N);
}

}  // namespace ridgeline::loop
