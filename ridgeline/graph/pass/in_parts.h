// ridgeline/graph/pass/in_parts.h
//
// Turns a step for the rows of one part into a step for a batch of several parts, which are computed independently. Ops
// that depend on the rows are copied for each part, and what a rank would exchange (gradients, statistics, returned
// numbers) is summed over pairs of parts, then pairs of pairs. Ranks add their values in the same way, so the order of
// a sum is given by all parts of all ranks together: the bits are the same however many ranks share the parts. Row i of
// a batch belongs to part i % parts, so that rows dealt to ranks in turn are dealt to parts in the same way.
// Keeps: what a step over as many ranks as parts computes. Drops: the functions.
#pragma once

#include <cstdint>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

struct BatchParts {
  std::int64_t parts = 1;  // of a rank's batch: a power of two
  std::int64_t ranks = 1;  // that have as many parts each
  std::int64_t place = 0;  // this rank's position by its rows: its first part is part `place` of all
  std::int64_t all() const { return parts * ranks; }
};

// For a rank among `ranks` ranks, a power of two, that add in pairs: the first row of the rank, which takes every
// ranks-th row from there, such that pairs of ranks are pairs of parts. It is the rank's number with its bits reversed.
std::int64_t place_of_rank(std::int64_t rank, std::int64_t ranks);

// `step` has inputs with the rows of one part, and exchanges (if any) over all parts of all ranks. The result has
// inputs of `parts` times as many rows, and exchanges over the ranks. Random ops draw by the number of the part. An
// Error if it returns or stores values that differ between parts, other than floating scalars and states.
Graph in_parts(Graph step, const BatchParts& how);

}  // namespace ridgeline
