// ridgeline/graph/op/metrics.h
//
// Numbers of correctly classified rows. logits [N,K], labels i32 [N], mask [N] or absent: rows whose mask is 0 do not
// count and their labels are not read. A row with a value that is not finite is no hit.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// top_k_accuracy, argmax_accuracy.
std::vector<OpDef> metric_ops();

}  // namespace ridgeline
