// ridgeline/graph/pass/fold_norm.h
//
// Batch norm with constant statistics becomes part of the convolution or dense layer in front of it: the weight times
// gamma / sqrt(variance + epsilon), channel by channel, and a bias. Only where the statistics and the layer's
// parameters are stored values that the graph does not change: what is made of them is then computed once a load
// (compile/). A layer over bf16 gets the product in bf16: it is made in f32 of the parameters and rounded once.
// Keeps: every returned value to within rounding, and the layer's name. Drops: the batch norm.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph fold_norm(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
