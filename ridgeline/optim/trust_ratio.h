// ridgeline/optim/trust_ratio.h
//
// The factors by which LARS and LAMB scale a parameter's step.
#pragma once

#include "ridgeline/graph/ir/builder.h"

namespace ridgeline::optim {

// |x|: the root of the sum of squares over all elements, f32[].
Value norm(Value x, const Location& where);
// |w| / |direction|, f32[]; 1 where either is 0.
Value trust_ratio(Value w, Value direction, const Location& where);
// numerator / denominator if both norms are positive, else 1.
Value ratio_or_one(Value norm_w, Value norm_g, Value numerator, Value denominator, const Location& where);

}  // namespace ridgeline::optim
