// ridgeline/graph/loop/expression.h
//
// The loop expression: scalar nodes over the elements of a tensor. A pointwise op is defined by its expression, fusion
// joins expressions, the reference evaluates them element by element, and each device compiles them. A plain value in
// SSA form: a node refers to earlier nodes only.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/graph/ir/dtype_set.h"

namespace ridgeline::loop {

enum class Kind : std::uint8_t {
  operand,   // element of operand `operand`
  constant,  // `value`
  // one argument
  neg,
  abs,
  exp,
  log,
  sqrt,
  floor,
  round_bf16,  // to the nearest bf16 or f16 number, ties to even, as when a value is stored in that type
  round_f16,
  cos,
  sin,
  // two arguments
  add,
  sub,
  mul,
  div,
  max,
  min,
  less,
  less_equal,
  equal,  // 1 or 0
  // three arguments: c != 0 ? a : b
  select,
  // uniform in [0,1) by counter (core/random.h: philox_element): key in `key`, argument 0 is the step (an operand,
  // read as an integer), the element index is the loop's own flat row-major index
  random_uniform,
};

// How many of a, b, c a term of this kind reads.
constexpr int arity(Kind kind) {
  if (kind == Kind::operand || kind == Kind::constant) return 0;
  if (kind == Kind::random_uniform || kind <= Kind::sin) return 1;
  return kind == Kind::select ? 3 : 2;
}

struct Term {
  Kind kind = Kind::constant;
  std::int32_t a = -1;
  std::int32_t b = -1;
  std::int32_t c = -1;
  std::int32_t operand = -1;
  double value = 0;
  std::uint64_t key = 0;
  // Bit by bit, so that NaN equals itself and 0 differs from -0.
  friend bool operator==(const Term& x, const Term& y) {
    return x.kind == y.kind && x.a == y.a && x.b == y.b && x.c == y.c && x.operand == y.operand && x.key == y.key &&
           std::bit_cast<std::uint64_t>(x.value) == std::bit_cast<std::uint64_t>(y.value);
  }
};

enum class Ending : std::uint8_t {
  store,  // one element per element of the loop's shape
  sum,    // the sum over all elements, a scalar
};

struct Result {
  std::int32_t term = -1;
  Ending ending = Ending::store;
  DType type = DType::f32;  // in which a fused loop stores it: f32, bf16 or f16; sums are f32
  friend bool operator==(const Result&, const Result&) = default;
};

struct Expression {
  std::int32_t operands = 0;
  std::vector<Term> terms;
  std::vector<Result> results;
  friend bool operator==(const Expression&, const Expression&) = default;
};

// The types in which loops store results.
inline constexpr DTypeSet kLoopStorage{DType::f32, DType::bf16, DType::f16};

// The same results with equal terms merged, unused ones dropped, and the terms in the order of a depth-first walk from
// the first result on: equal computations compare equal. All functions that make expressions return canonical ones.
Expression canonical(const Expression& expression);

// A term that refers forward, an operand out of range, or a step that is not an operand fails a RIDGELINE_CHECK.
void check(const Expression& expression);

}  // namespace ridgeline::loop
