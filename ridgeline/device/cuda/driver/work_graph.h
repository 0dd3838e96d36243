// ridgeline/device/cuda/driver/work_graph.h
//
// Pieces of work with the bytes that each touches and what each comes behind: what the recording driver makes of a
// capture. No driver and no device are known here.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/device/cuda/driver/launch.h"

namespace ridgeline::cuda {

struct WorkNode {
  std::string name;
  std::vector<TouchedRange> touches;  // device memory, and pinned memory by its address
  std::vector<std::size_t> after;     // indices of nodes in front of it
  std::function<void()> run;
};

// Whether one of both writes a byte that the other one touches.
bool conflict(const std::vector<TouchedRange>& a, const std::vector<TouchedRange>& b);

// Two nodes that touch the same bytes, one of them writing, and neither comes behind the other. `after` holds smaller
// indices than the node's own.
std::optional<std::pair<std::size_t, std::size_t>> unordered_conflict(const std::vector<WorkNode>& nodes);

// Whether node `last` comes behind `first`, or is it.
bool comes_behind(const std::vector<WorkNode>& nodes, std::size_t first, std::size_t last);

// An order that keeps every `after`, and is as unlike the order of capture as these allow: an edge that is missing
// shows in the values.
std::vector<std::size_t> contrary_order(const std::vector<WorkNode>& nodes);

}  // namespace ridgeline::cuda
