// ridgeline/compile/lower/check_memory.h
//
// Refuses what cannot fit into a device's memory before any of it is allocated: an Error says how many bytes are needed
// for what, and how many there are (Device::memory_limit).
#pragma once

#include <string>

#include "ridgeline/graph/ir/graph.h"

namespace ridgeline {

class Device;
struct MemoryReport;

// Before a program is made, checks what is known without a plan: parameters, states and inputs, plus each single value
// that an op makes.
void check_memory(const Graph& graph, const Device& device);
// The same on the host.
void check_memory(const Graph& graph);

// Before a program's memory is allocated, checks all that it needs.
void check_memory(const MemoryReport& report, const Device& device);

// "1.5 GB (parameters 1.0 GB, inputs ...)"
std::string needs_text(const MemoryReport& report);

}  // namespace ridgeline
