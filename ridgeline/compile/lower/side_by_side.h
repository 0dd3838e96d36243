// ridgeline/compile/lower/side_by_side.h
//
// Which ops of a graph run beside others (SessionOptions::parallel_launches). Runs of neighbouring ops are taken where
// what depends on nothing of each other keeps the lanes about as busy as the whole team would be; their kernels are
// made for the team of a lane. Everything else runs as ever: one after the other, on all threads.
#pragma once

#include <vector>

#include "ridgeline/compile/lower/place.h"
#include "ridgeline/core/threads.h"

namespace ridgeline {

// For whom kernels are made.
struct OpTeams {
  int whole = compute_threads();
  int lane = whole;          // threads of a lane's team
  std::vector<bool> beside;  // by op; empty: none
  bool is_beside(std::size_t op) const { return op < beside.size() && beside[op]; }
  int of(std::size_t op) const { return is_beside(op) ? lane : whole; }
};

// For a team of compute_threads() that `lanes` lanes divide among them.
OpTeams op_teams(const Graph& graph, const Placement& placement, int lanes);

}  // namespace ridgeline
