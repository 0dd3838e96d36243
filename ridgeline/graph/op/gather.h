// ridgeline/graph/op/gather.h
//
// Rows of a table by index, and the gradient of the table: each row's gradient is added to the table's row it came
// from, in the order of the indices, whatever the team.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// The table as kernels see it: [outer, rows, inner], where indices select rows.
struct GatherForm {
  std::int64_t outer = 1, rows = 1, inner = 1;
  std::int64_t count = 0;  // of the indices
};
// Of operands that gather takes, or whose gradient gather_bwd gives.
GatherForm gather_form(const Shape& table, const Shape& indices, std::int64_t axis);

// The first index without a row is an Error "[gather] index 12 at position 3 is outside the 10 rows".
void check_indices(std::string_view op, const std::int32_t* indices, const GatherForm& form);

// gather, gather_bwd.
std::vector<OpDef> gather_ops();

}  // namespace ridgeline
