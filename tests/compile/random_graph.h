// Random step graphs for tests of compilation: convolutions and dense layers over parameters or over values derived
// from them, pools, norms, losses, reductions, pointwise chains, views, shapes, calls of functions within functions,
// gradients, returned arguments, updates that chain, swap and share.
#pragma once

#include <cstdint>
#include <string>

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/op/evaluate.h"

namespace ridgeline::testing {

struct RandomStep {
  Graph train;    // returns values and updates the store
  Graph forward;  // some of its values, no updates: what an evaluation would be
  // Values for all arguments of `train`.
  Arguments arguments;
  // All values are multiples of a power of two that f32 holds exactly, partial sums too, so any right program gives
  // the reference's very bits. Otherwise rounding differs and results are compared within a tolerance.
  bool exact = false;
};

// Whether every value is a multiple of 2^-6 below 2^12 in size: then no sum of products of such in these small graphs
// rounds.
bool holds_exactly(const Graph& graph, const Arguments& arguments);

// The same seed gives the same step.
RandomStep random_step(std::uint64_t seed);

// A graph of pointwise ops alone over f32 of several shapes that broadcast, and values for its arguments. All results
// are finite.
struct RandomPointwise {
  Graph graph;
  Arguments arguments;
};
RandomPointwise random_pointwise(std::uint64_t seed);

}  // namespace ridgeline::testing
