// ridgeline/compile/lower/plan_memory.h
//
// Gives every buffer its place, from the lifetimes in the fixed order (lifetimes.h). First, large values that ranks
// exchange get memory that all of them can access. Then results overwrite operands that are not needed later, if the
// kernel allows and no other buffer needs the bytes. Last, the remaining buffers of arenas are placed: best fit,
// largest first. In sections (lanes.h) what a launch has read keeps its memory for a few more launches, so that lanes
// may get ahead of each other.
#pragma once

#include "ridgeline/compile/lower/memory_report.h"
#include "ridgeline/compile/lower/plan.h"

namespace ridgeline {

// Sets the plan's fields about places: Buffer::offset; within and home of buffers that are exchanged or overwrite an
// operand; Launch::shared; Plan::arena_bytes. Without `reuse` every buffer gets memory of its own.
MemoryReport plan_memory(Plan& plan, bool reuse);

}  // namespace ridgeline
