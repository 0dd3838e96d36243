// ridgeline/graph/op/conv2d.h
//
// y[n,h,w,k] = b[k] + sum over r,s,c of x[n, h*stride + r*dilation - top, w*stride + s*dilation - left, g*C/groups + c]
//              * w[k,r,s,c], where g = k / (K/groups) is the group of output channel k; zeros outside the image.
// x [N,H,W,C], w [K,R,S,C/groups], b [K] or absent, y [N,(H+top+bottom-dilation*(R-1)-1)/stride+1,...,K].
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// conv2d, conv2d_bwd_data, conv2d_bwd_weights.
std::vector<OpDef> conv2d_ops();

}  // namespace ridgeline
