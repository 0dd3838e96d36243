// ridgeline/graph/loop/text.h
//
// Loop expressions as text: "sum(x0 + x1 * x2)", "max(x0, 0)". Operands are x0, x1, ...; results are separated by ';'.
// A term that is used more than once is first given a name: "t0 = 0.9 * x1 + x2; x0 - x3 * t0; t0".
//
//   operators        a < b, a <= b, a == b, a + b, a - b, a * b, a / b, -a
//   one argument abs(a), exp(a), log(a), sqrt(a), floor(a), cos(a), sin(a)
//   rounding bf16(a), f16(a)
//   several max(a, b), min(a, b), select(condition, a, b), uniform(step, key)
//   a whole result   sum(a): the sum over all elements
//                    a : bf16, a : f16: the type in which it is stored, else f32
//
// Numbers are parsed back exactly. parse(to_string(e)) == e for a canonical expression, if it uses its last operand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/graph/loop/expression.h"

namespace ridgeline::loop {

std::string to_string(const Expression& expression);
// With names for the operands, for formulas in docs: "x + y".
std::string to_string(const Expression& expression, const std::vector<std::string>& operand_names);

// The canonical expression. `operands` -1: as many as the text mentions; else x<operands> and above in the text are an
// Error. A mistake in the text is an Error that shows the place.
Expression parse(std::string_view text, int operands = -1);

}  // namespace ridgeline::loop
