// ridgeline/graph/op/dense.h
//
// y[n,k] = b[k] + sum over c of x[n,c] * w[k,c]. x [N,C], w [K,C], b [K] or absent, y [N,K].
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// dense, dense_bwd_data, dense_bwd_weights.
std::vector<OpDef> dense_ops();

}  // namespace ridgeline
