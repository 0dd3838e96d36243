// ridgeline/nn/weights.h
//
// The names of compile/weights.h in nn/.
#pragma once

#include "ridgeline/compile/weights.h"

namespace ridgeline::nn {

using ridgeline::file_shape;
using ridgeline::from_file;
using ridgeline::match_weights;
using ridgeline::to_file;
using ridgeline::WeightMatch;

}  // namespace ridgeline::nn
