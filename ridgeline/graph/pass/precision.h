// ridgeline/graph/pass/precision.h
//
// Stores operands and results of some ops as bf16 or f16, as the context's policy says; where types differ, a value is
// cast once.
// Keeps: parameters, states, updates, inputs and returned values in their types, names of ops, and, in the list modes,
// gradients of parameters in f32. Changes: types of values between ops, so results are rounded to them.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph precision(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
