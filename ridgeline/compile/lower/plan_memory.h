// ridgeline/compile/lower/plan_memory.h
//
// Gives every buffer its place. On the lifetimes of the fixed order (lifetimes.h), in this order: large values that
// ranks exchange get memory that all of them see; results are written over operands that end there, where the kernel
// allows and nobody else needs the bytes; what is then left of arenas is placed once, best fit, largest first. In
// sections (lanes.h) what a launch has read keeps its memory for some launches more, so that lanes may get ahead of
// each other.
#pragma once

#include "ridgeline/compile/lower/memory_report.h"
#include "ridgeline/compile/lower/plan.h"

namespace ridgeline {

// Fills what the plan says about places: Buffer::offset, within and home of what is exchanged or written over an
// operand, Launch::shared, Plan::arena_bytes. Without `reuse` every buffer gets memory of its own.
MemoryReport plan_memory(Plan& plan, bool reuse);

}  // namespace ridgeline
