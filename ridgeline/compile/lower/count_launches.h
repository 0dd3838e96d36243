// ridgeline/compile/lower/count_launches.h
//
// How often a plan goes through memory: its launches, and the bytes that they read and write. What fusion is to lower.
#pragma once

#include <cstddef>

#include "ridgeline/compile/lower/plan.h"

namespace ridgeline {

struct LaunchCounts {
  std::size_t launches = 0;
  // Each operand and result of each launch once; workspaces left out.
  std::size_t read = 0;
  std::size_t written = 0;
  std::size_t bytes() const { return read + written; }
};

// Copies, conversions and derived forms included, the latter as in a step behind an update. What is computed once a
// load (constant_values.h) is left out.
LaunchCounts count_launches(const Plan& plan);

}  // namespace ridgeline
