// ridgeline/device/cuda/driver/work_graph.h
//
// Pieces of work with the bytes that each touches and the work that must come before: what the recording driver makes
// from a capture. Independent of drivers and devices.
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
  std::vector<std::size_t> after;     // indices of nodes that come before it
  std::function<void()> run;
};

// Whether one of the two writes a byte that the other one touches.
bool conflict(const std::vector<TouchedRange>& a, const std::vector<TouchedRange>& b);

// Two nodes that touch the same bytes, one of them writing, and neither ordered after the other. `after` holds smaller
// indices than the node's own.
std::optional<std::pair<std::size_t, std::size_t>> unordered_conflict(const std::vector<WorkNode>& nodes);

// Whether node `last` comes after `first`, or is the same.
bool comes_behind(const std::vector<WorkNode>& nodes, std::size_t first, std::size_t last);

// An order that respects every `after`, but differs from the order of capture as much as possible, so that a missing
// edge changes values.
std::vector<std::size_t> contrary_order(const std::vector<WorkNode>& nodes);

}  // namespace ridgeline::cuda
