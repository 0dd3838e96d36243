// ridgeline/graph/pass/recompute.h
//
// Recomputes cheap values just before their later readers instead of keeping them until then. If memory is limited
// (PassContext::live_limit), it goes on until the values that are alive at one time fit; else, in graphs that update
// something, as long as all recomputation together is estimated to take almost none of the step's time (kSpareShare).
// Each time it picks the value that frees most memory for its work at the moment of the largest use, together with
// cheap operands that no longer exist by then. Cheap: at most kMostFlops operations per byte moved, which excludes
// convolutions and products. The second computation is the same op over the same operands, or that of OpDef::again if
// its bits are the same (FusionLimits::again).
// Keeps: values. Adds: copies of ops, named "<op>/again".
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph recompute(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
