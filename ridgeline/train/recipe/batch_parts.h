// ridgeline/train/recipe/batch_parts.h
//
// In how many parts the batch of a step is computed, so that the order of sums over it does not depend on the number of
// ranks (graph/pass/in_parts.h). Functions only.
#pragma once

#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// Parts of a batch of `rows` of all ranks together: `wanted`, a power of two that divides the rows (else an Error), or,
// with 0, the largest of 2, 4 and 8 that does (8 only if parts have at least 32 rows); else 1.
std::int64_t parts_of_rows(std::int64_t rows, std::int64_t wanted);

// The recipe with `parts` of this rank's batch and `place` set, from its batch and its ranks. There is one part in runs
// whose bits may depend on the number of ranks: `fast` ones, and networks whose batch norms use statistics of each
// rank's own batch. An Error (usage) if the ranks cannot share the parts.
Recipe with_batch_parts(Recipe recipe);

// Every `parts`-th row of the tensor from `part` on, as a copy.
Tensor rows_of_part(const Tensor& rows, std::int64_t part, std::int64_t parts);

}  // namespace ridgeline::train
