// ridgeline/graph/pass/fusion/patterns.h
//
// The fusion patterns, one file each, in the order of passes.cpp.
#pragma once

#include "ridgeline/graph/pass/fusion/pattern.h"

namespace ridgeline {

extern const FusionPattern kFuseAddend, kFuseEpilogue, kFuseNormGradient, kNarrowReluGrad, kFuseMaxPool,
    kFuseDataGradient, kFusePoolGradient, kFuseDenseUpdate;

}  // namespace ridgeline
