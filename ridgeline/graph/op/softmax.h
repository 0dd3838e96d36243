// ridgeline/graph/op/softmax.h
//
// Softmax over an axis, and the cross-entropy of its result over rows of classes with smoothed labels:
// loss[n] = -sum over k of q[n,k] * log p[n,k], q = (1 - label_smoothing) * one_hot(label) + label_smoothing / K.
// Computed from logits, with the largest subtracted. A row whose mask is 0 has loss 0 and no gradient, and its label is
// not read. logits [N,K], mask [N] or absent. Labels are classes, i32 [N], or probabilities of all classes, floating
// [N,K], used in place of one_hot(label): those of mixed images. Smoothing as in Szegedy et al., 2016, and TensorFlow;
// probabilities as in torch.nn.functional.cross_entropy.
#pragma once

#include <vector>

#include "ridgeline/graph/ir/op_def.h"

namespace ridgeline {

// softmax, softmax_bwd, softmax_cross_entropy, softmax_cross_entropy_bwd.
std::vector<OpDef> softmax_ops();

}  // namespace ridgeline
