// ridgeline/graph/loop/evaluate.h
//
// The reference of loop expressions: element by element, each primitive rounded to the arithmetic's type. Kernels must
// give the same bits. Any thread; works on the calling thread only.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "ridgeline/core/math.h"
#include "ridgeline/core/tensor.h"
#include "ridgeline/graph/ir/arithmetic.h"
#include "ridgeline/graph/loop/expression.h"
#include "ridgeline/graph/loop/float_math.h"

namespace ridgeline::loop {

// Evaluates over `shape`, to which every operand broadcasts (NumPy). The step of a random number is the first element
// of its operand, as an integer. A stored result has `shape` elements, a sum one; sums accumulate in double. Values are
// converted to the result's type: integers towards zero and saturating, bool as "not 0".
void evaluate(const Expression& expression, Arithmetic arithmetic, const Shape& shape, std::span<const Tensor> operands,
              std::span<Tensor> results);

// The results of an expression without random numbers for these scalar operands, in f64.
std::vector<double> evaluate(const Expression& expression, std::span<const double> operands);

// One primitive (not operand, constant, random_uniform) on one element.
template <class Real>
Real apply_primitive(Kind kind, Real a, Real b, Real c) {
  constexpr bool is_float = sizeof(Real) == sizeof(float);
  switch (kind) {
    case Kind::neg: return -a;
    case Kind::abs: return std::fabs(a);
    case Kind::exp:
      if constexpr (is_float)
        return exp_f32(a);
      else
        return portable_exp(a);
    case Kind::log:
      if constexpr (is_float)
        return log_f32(a);
      else
        return portable_log(a);
    case Kind::sqrt: return std::sqrt(a);
    case Kind::floor: return std::floor(a);
    case Kind::round_bf16: return static_cast<Real>(to_float(to_bfloat16(static_cast<float>(a))));
    case Kind::round_f16: return static_cast<Real>(to_float(to_float16(static_cast<float>(a))));
    case Kind::cos: return static_cast<Real>(portable_cos(static_cast<double>(a)));
    case Kind::sin: return static_cast<Real>(portable_sin(static_cast<double>(a)));
    case Kind::add: return a + b;
    case Kind::sub: return a - b;
    case Kind::mul: return a * b;
    case Kind::div: return a / b;
    case Kind::max: return a != a || a > b ? a : b;
    case Kind::min: return a != a || a < b ? a : b;
    case Kind::less: return a < b ? Real(1) : Real(0);
    case Kind::less_equal: return a <= b ? Real(1) : Real(0);
    case Kind::equal: return a == b ? Real(1) : Real(0);
    case Kind::select: return a != 0 ? b : c;
    default: return Real(0);
  }
}

}  // namespace ridgeline::loop
