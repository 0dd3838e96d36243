// ridgeline/graph/loop/text.h
//
// Loop expressions as text: "sum(x0 + x1 * x2)", "max(x0, 0)". Operands are x0, x1, ...; results are separated by ';';
// a term with several readers is named first: "t0 = 0.9 * x1 + x2; x0 - x3 * t0; t0".
//   operators    a < b, a <= b, a == b; a + b, a - b; a * b, a / b; -a
//   functions    abs exp log sqrt floor cos sin (a) · bf16 f16 (a): rounded to the type · max min (a, b) · select(c, a,
//   b) · uniform(step, key) endings      sum(a) as a whole result: the sum over all elements storage      "a : bf16" as
//   a whole result: stored as bf16 (f16); without it as f32
// Numbers round-trip exactly. parse(to_string(e)) == e for canonical expressions without trailing unused operands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/graph/loop/expression.h"

namespace ridgeline::loop {

std::string to_string(const Expression& expression);
// With names for the operands, for formulas in docs: "x + y".
std::string to_string(const Expression& expression, const std::vector<std::string>& operand_names);

// The canonical expression. `operands` -1: as many as the text mentions; else naming x<operands> or above is an Error.
// A mistake in the text is an Error that shows the place.
Expression parse(std::string_view text, int operands = -1);

}  // namespace ridgeline::loop
