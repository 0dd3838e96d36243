// ridgeline/compile/plan_memory.h
//
// Gives every arena buffer its place: lifetimes on the fixed order of launches, results written over operands that end
// there where the kernel allows, then best fit, largest first. In sections (lanes.h) what a launch has read keeps its
// memory for some launches more, so that lanes may get ahead of each other.
#pragma once

#include "ridgeline/compile/memory_report.h"
#include "ridgeline/compile/plan.h"

namespace ridgeline {

// Fills Buffer::offset and Plan::arena_bytes. Without `reuse` every buffer gets memory of its own.
MemoryReport plan_memory(Plan& plan, bool reuse);

}  // namespace ridgeline
