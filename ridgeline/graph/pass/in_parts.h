// ridgeline/graph/pass/in_parts.h
//
// A step for the rows of one part becomes a step for a batch of several parts, which are computed one beside the other:
// ops that follow from the rows are there once for each part, and what a rank would exchange (gradients, statistics,
// returned numbers) is added up in pairs of parts, then pairs of pairs. As ranks add their values in the same way, the
// order of a sum follows from all parts of all ranks together: however many ranks share them, the bits are the same.
// Row i of a batch belongs to part i % parts, so that rows dealt out to ranks in turn are dealt out to parts likewise.
// Keeps: what a step over as many ranks as there are parts computes. Drops: the functions.
#pragma once

#include <cstdint>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

struct BatchParts {
  std::int64_t parts = 1;  // of a rank's batch: a power of two
  std::int64_t ranks = 1;  // that have as many parts each
  std::int64_t place = 0;  // which of the ranks this is, by its rows: its first part is part `place` of all
  std::int64_t all() const { return parts * ranks; }
};

// Of `ranks` ranks, a power of two, that add in pairs: the row from which on the rank takes every ranks-th one, so that
// pairs of ranks are pairs of parts. The bits of its number in reverse.
std::int64_t place_of_rank(std::int64_t rank, std::int64_t ranks);

// `step`: with inputs of the rows of one part, and exchanges (if it has any) over all parts of all ranks. The result
// has inputs of `parts` times as many rows, and exchanges over the ranks. Random ops draw by the number of the part. An
// Error where it returns or keeps what each part has its own of, other than floating scalars and states.
Graph in_parts(Graph step, const BatchParts& how);

}  // namespace ridgeline
