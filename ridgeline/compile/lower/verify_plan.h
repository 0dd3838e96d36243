// ridgeline/compile/lower/verify_plan.h
//
// Checks that a plan does what its graph says, independently of how it was made: in tests and debug builds after every
// step of lowering, and once at the end of every compilation. A fault is a bug of ours.
//
// - Shape (plan_shape.cpp): every buffer, launch and event that is referred to exists, each op is launched once, inner
//   buffers are inside their outer one, arenas cover their buffers, exchanges begin in the graph's order and end,
//   sections assign each of their launches to one lane.
// - Contents (plan_contents.cpp): the launches are followed in order over the bytes that they read and write. Each op
//   reads the values that the graph gives it, as they were written, in the type and layout that its kernel expects; no
//   launch accesses values during their exchange; updates and returned values are complete at the end; values that
//   later runs do not recompute are not overwritten.
// - Order (plan_order.cpp): launches of a section that touch the same bytes, one of them to write, wait for each other.
#pragma once

#include "ridgeline/compile/lower/plan.h"

namespace ridgeline {

// How far the plan is made.
enum class PlanStage {
  launches,  // before memory is planned: each arena buffer has memory of its own
  memory,    // places are planned
  lanes,     // launches of sections are assigned, too: what a program runs
};

// An InternalError that names the launch, its op and its buffers.
void verify(const Plan& plan, PlanStage stage);

}  // namespace ridgeline
