// Random step graphs for tests of compilation: convolutions and dense layers over parameters or derived values, pools,
// norms, losses, reductions, pointwise chains, views, shape ops, nested function calls, gradients, returned arguments,
// updates that chain, swap and share.
#pragma once

#include <cstdint>
#include <string>

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/op/evaluate.h"

namespace ridgeline::testing {

struct RandomStep {
  Graph train;    // returns values and updates the store
  Graph forward;  // some of its values without updates, like an evaluation
  // Values for all arguments of `train`.
  Arguments arguments;
  // All values, also partial sums, are multiples of a power of two that f32 represents exactly, so a correct program
  // gives the bits of the reference. Otherwise results are compared with a tolerance.
  bool exact = false;
};

// Whether every value is a multiple of 2^-6 below 2^12 in size: then sums of products of such values in these small
// graphs are exact.
bool holds_exactly(const Graph& graph, const Arguments& arguments);

// Equal seeds give equal steps.
RandomStep random_step(std::uint64_t seed);

// A graph of only pointwise ops over f32 of several shapes that broadcast, and values for its arguments. All results
// are finite.
struct RandomPointwise {
  Graph graph;
  Arguments arguments;
};
RandomPointwise random_pointwise(std::uint64_t seed);

}  // namespace ridgeline::testing
