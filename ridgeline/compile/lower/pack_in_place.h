// ridgeline/compile/lower/pack_in_place.h
//
// Values that the start of an exchange packs are made directly in the exchanged memory if only the exchange reads them
// from then on: their kernels write there, and the start has nothing to copy.
#pragma once

#include "ridgeline/compile/lower/plan.h"

namespace ridgeline {

// Call before memory is planned. Values that cannot be made in place are copied by the start.
void pack_in_place(Plan& plan);

}  // namespace ridgeline
