// ridgeline/graph/pass/recompute.h
//
// Computes cheap values once more in front of their later readers instead of keeping them until then, one after the
// other: where memory is limited (PassContext::live), until what is alive at one time fits; else as long as all of it
// together is estimated to take next to nothing beside the step (kSpareShare), in graphs that update something. Each
// time that which frees most for its work at the fullest moment, together with cheap operands that are gone by then.
// Cheap: at most kMostFlops operations a byte moved, which leaves out convolutions and products. The second computation
// is the same op over the same operands, or what OpDef::again says where that has the same bits (FusionLimits::again).
// Keeps: values. Adds: copies of ops, named "<op>/again".
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

Graph recompute(Graph graph, const PassContext& context, PassResults& results);

}  // namespace ridgeline
