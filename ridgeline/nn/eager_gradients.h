// ridgeline/nn/eager_gradients.h
//
// Gradients of eager computations: the recorded ops are differentiated like a traced graph, and forward and backward
// ops run one by one. (In nn/ because compile/ must not depend on graph/grad.)
#pragma once

#include <source_location>
#include <span>
#include <vector>

#include "ridgeline/compile/run/eager.h"

namespace ridgeline::nn {

// d loss / d value for each of `with_respect_to`, zeros where the loss does not depend on it. The loss is a floating
// scalar; an op without a gradient is an Error that names it, and a value that is not recorded an Error that names the
// line. The recording stays.
std::vector<Tensor> eager_gradients(Eager& eager, const Value& loss, std::span<const Value> with_respect_to,
                                    const std::source_location& at = std::source_location::current());

}  // namespace ridgeline::nn
