// ridgeline/compile/lower/verify_plan.h
//
// Checks that a plan does what its graph says, whatever made it: in tests and debug builds after every step of
// lowering, and once at the end of every compilation. What it finds is a bug of ours.
//
// - Shape (plan_shape.cpp): every buffer, launch and event that is named exists, each op is launched once, parts lie
//   inside their whole, arenas cover what lies in them, exchanges begin in the graph's order and end, sections deal
//   each of their launches to one lane.
// - Contents (plan_contents.cpp): the launches are followed in order over the bytes that they read and write. Each op
//   reads the values that the graph gives it, as they were written, in the type and layout that its kernel expects;
//   nobody touches what is exchanged meanwhile; updates and returned values are whole at the end; what later runs leave
//   out stays where it is.
// - Order (plan_order.cpp): launches of a section that touch the same bytes, one of them to write, wait for each other.
#pragma once

#include "ridgeline/compile/lower/plan.h"

namespace ridgeline {

// How much of a plan there is to check.
enum class PlanStage {
  launches,  // each buffer of an arena has memory of its own
  memory,    // places are planned
  lanes,     // and launches of sections are dealt out: what a program runs
};

// An InternalError that names the launch, its op and its buffers.
void verify(const Plan& plan, PlanStage stage);

}  // namespace ridgeline
