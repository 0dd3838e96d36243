// ridgeline/graph/op/lrn.h
//
// Local response normalisation across channels, the rule of AlexNet in PyTorch's and ONNX's scaling:
// y[c] = x[c] / s[c]^beta, s[c] = bias + alpha/size * sum of x[d]^2 over the `size` channels d centred at c.
// x [...,C], y of the same shape. Krizhevsky et al., "ImageNet classification with deep convolutional neural networks",
// 2012.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// lrn, lrn_bwd.
std::vector<OpDef> lrn_ops();

}  // namespace ridgeline
