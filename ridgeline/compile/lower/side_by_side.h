// ridgeline/compile/lower/side_by_side.h
//
// Which ops of a graph run side by side (SessionOptions::parallel_launches). Sequences of neighbouring ops are chosen
// if their independent ops keep the lanes about as busy as the whole team would be; their kernels are made for the team
// of a lane. All other ops run one after the other, on all threads.
#pragma once

#include <vector>

#include "ridgeline/compile/lower/place.h"
#include "ridgeline/core/threads.h"

namespace ridgeline {

// The teams for which kernels are made.
struct OpTeams {
  int whole = compute_threads();
  int lane = whole;          // threads of a lane's team
  std::vector<bool> beside;  // by op: runs side by side with others; empty: none
  bool is_beside(std::size_t op) const { return op < beside.size() && beside[op]; }
  int of(std::size_t op) const { return is_beside(op) ? lane : whole; }
};

// For a team of compute_threads(), divided among `lanes` lanes.
OpTeams op_teams(const Graph& graph, const Placement& placement, int lanes);

}  // namespace ridgeline
