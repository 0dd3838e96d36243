// ridgeline/compile/lower.h
//
// From the final graph to launches: places every op on a device, takes the first kernel of that device's list that
// accepts, settles layouts, and inserts the copies and conversions that follow from both. Fixes the home layouts of
// parameters that no program has used before.
#pragma once

#include "ridgeline/compile/plan.h"
#include "ridgeline/compile/session.h"

namespace ridgeline {

// Offsets are not planned yet.
Plan lower(Graph graph, Session& session, bool soft_placement);

}  // namespace ridgeline
