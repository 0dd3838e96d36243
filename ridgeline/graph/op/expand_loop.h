// ridgeline/graph/op/expand_loop.h
//
// A loop expression as ops, one a term: for formulas that are written as expressions (learning-rate schedules) and must
// stand in the graph in a form that every device, printer and exporter knows.
#pragma once

#include <span>
#include <vector>

#include "ridgeline/graph/ir/builder.h"
#include "ridgeline/graph/loop/expression.h"

namespace ridgeline {

// One value a result. All operands have one floating type, which constants and results get. Sums and random numbers
// have no such form (a failed check).
std::vector<Value> expand_loop(const loop::Expression& expression, std::span<const Value> operands,
                               const Location& where);

}  // namespace ridgeline
