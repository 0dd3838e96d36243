// ridgeline/graph/op/expand_loop.h
//
// A loop expression as ops, one for each term: for formulas that are written as expressions (learning-rate schedules)
// but must be in the graph as ops that every device, printer and exporter knows.
#pragma once

#include <span>
#include <vector>

#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/loop/expression.h"

namespace ridgeline {

// One value for each result. All operands have one floating type, which constants and results get. Sums and random
// numbers cannot be expanded (a failed check).
std::vector<Value> expand_loop(const loop::Expression& expression, std::span<const Value> operands,
                               const Location& where);

}  // namespace ridgeline
