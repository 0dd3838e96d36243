// ridgeline/compile/lower/pack_in_place.h
//
// Values that a start packs are made in their places in the exchanged memory where nobody but the exchange reads them
// from then on: their kernels write there, and the start has nothing to copy.
#pragma once

#include "ridgeline/compile/lower/plan.h"

namespace ridgeline {

// Before memory is planned. What cannot be made in its place is copied by the start.
void pack_in_place(Plan& plan);

}  // namespace ridgeline
