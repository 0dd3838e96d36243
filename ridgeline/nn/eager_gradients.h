// ridgeline/nn/eager_gradients.h
//
// Gradients of what was computed eagerly: the recorded ops are differentiated as a traced graph is, and forward and
// backward ops are run one by one. (Beside nn because compile/ does without graph/grad.)
#pragma once

#include <source_location>
#include <span>
#include <vector>

#include "ridgeline/compile/run/eager.h"

namespace ridgeline::nn {

// d loss / d value for each of `with_respect_to`, zeros where the loss does not depend on it. The loss is a floating
// scalar; an op without a gradient on the way is an Error that names it, and a value that is none of what is recorded
// one that names the line. What is recorded stays.
std::vector<Tensor> eager_gradients(Eager& eager, const Value& loss, std::span<const Value> with_respect_to,
                                    const std::source_location& at = std::source_location::current());

}  // namespace ridgeline::nn
