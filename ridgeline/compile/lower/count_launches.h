// ridgeline/compile/lower/count_launches.h
//
// A plan's memory traffic: its launches, and the bytes that they read and write. Fusion should lower both.
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

// Includes copies, conversions and derived forms, the latter as in a step after an update. Excludes what is computed
// once per load (constant_values.h).
LaunchCounts count_launches(const Plan& plan);

}  // namespace ridgeline
