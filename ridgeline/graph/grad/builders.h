// ridgeline/graph/grad/builders.h
//
// The gradient rules by family, collected in graph/grad/table.cpp.
#pragma once

#include <vector>

#include "ridgeline/graph/grad/gradient.h"

namespace ridgeline {

std::vector<GradientRule> pointwise_gradients();
std::vector<GradientRule> activation_gradients();
std::vector<GradientRule> layer_gradients();    // conv2d, dense, pools, lrn, norms
std::vector<GradientRule> product_gradients();  // matmul, gather
std::vector<GradientRule> shape_gradients();    // reductions, reshapes, slices
std::vector<GradientRule> collective_gradients();
std::vector<GradientRule> loss_gradients();  // softmax, cross-entropy, penalty, metrics

}  // namespace ridgeline
