// ridgeline/compile/check_memory.h
//
// What cannot fit into the memory of this process is refused before anything of it is made: an Error that says how many
// bytes are needed for what, and how many there are (core/memory.h).
#pragma once

#include <string>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

struct MemoryReport;

// Before a program is made, what is known without a plan: parameters, states and inputs together, and beside them each
// value that an op makes.
void check_memory(const Graph& graph);

// Before its memory is allocated: all that it takes.
void check_memory(const MemoryReport& report);

// "1.5 GB (parameters 1.0 GB, inputs ...)"
std::string needs_text(const MemoryReport& report);

}  // namespace ridgeline
