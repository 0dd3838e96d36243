// ridgeline/graph/op/batch_norm.h
//
// Batch normalisation over all axes but the last, as PyTorch's BatchNorm2d:
// y = (x - mean) / sqrt(var + epsilon) * gamma + beta, with the biased variance of the batch;
// running = (1 - momentum) * running + momentum * batch, with the unbiased variance.
// x [...,C]; gamma, beta, statistics [C]. Ioffe and Szegedy, "Batch normalization", 2015.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// batch_norm_train, batch_norm_bwd, batch_norm_eval.
std::vector<OpDef> batch_norm_ops();

}  // namespace ridgeline
