// ridgeline/graph/pass/accumulation.h
//
// States that accumulate a sum over several runs and then restart: how one is built, and how passes find it. Both are
// here, so that passes recognise exactly what is built this way.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/builder.h"

namespace ridgeline {

struct Accumulation {
  ValueId state = kNoValue;
  ValueId sum = kNoValue;   // the state plus what this run adds
  ValueId last = kNoValue;  // whether the state restarts after this run: bool[]
};

// The sum of a stored state and x; the state's next value is that sum, or zero where `last` is true.
Value accumulate(GraphBuilder& builder, const Value& state, const Value& x, const Value& last);

std::vector<Accumulation> accumulations(const Graph& graph);

}  // namespace ridgeline
