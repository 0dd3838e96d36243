// ridgeline/compile/lower/check_memory.h
//
// What cannot fit into the memory of a device is refused before anything of it is made: an Error that says how many
// bytes are needed for what, and how many there are (Device::memory_limit).
#pragma once

#include <string>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

class Device;
struct MemoryReport;

// Before a program is made, what is known without a plan: parameters, states and inputs together, and beside them each
// value that an op makes.
void check_memory(const Graph& graph, const Device& device);
// The same on the host.
void check_memory(const Graph& graph);

// Before its memory is allocated: all that it takes.
void check_memory(const MemoryReport& report, const Device& device);

// "1.5 GB (parameters 1.0 GB, inputs ...)"
std::string needs_text(const MemoryReport& report);

}  // namespace ridgeline
