// ridgeline/train/recipe/session_options.h
//
// The session options of a recipe: threads, device, precision, diagnostics, trace.
#pragma once

#include "ridgeline/compile/run/session.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// What its kernels must promise; unknown values are Errors (usage).
KernelPromise promise_of(const Recipe& recipe);
// op_select_implmode, by the one of its two names that checkpoints keep.
std::string implmode_of(const Recipe& recipe);
// Its precision options, together with the device.
PrecisionOptions precision_of(const Recipe& recipe);
SessionOptions session_options(const Recipe& recipe);

}  // namespace ridgeline::train
