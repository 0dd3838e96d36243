// ridgeline/graph/pass/fold_norm.h
//
// Folds a batch norm with constant statistics into the convolution or dense layer before it: the weight times gamma /
// sqrt(variance + epsilon), channel by channel, and a bias. Only if the statistics and the layer's parameters are
// stored values that the graph does not change: the folded weights are then computed once per load (compile/). A layer
// over bf16 gets folded weights that were computed in f32 and rounded once.
// Keeps: every returned value to within rounding, and the layer's name. Drops: the batch norm.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph fold_norm(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
