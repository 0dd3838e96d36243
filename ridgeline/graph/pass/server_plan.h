// ridgeline/graph/pass/server_plan.h
//
// Assigns parameters to parameter servers.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/distribution.h"

namespace ridgeline {

struct ServerPlan {
  std::map<std::string, int, std::less<>> server;  // each parameter's server, from 0
  std::vector<std::size_t> bytes;                  // of the parameters of each server
  std::size_t updated = 0;                         // parameters of the step that are updated, on servers or not

  std::size_t all_bytes() const;
  // For the log: how many parameters are on servers, the bytes of each server, and what a worker sends and receives in
  // a step.
  std::string text() const;
};

// Assigns whole parameters, the largest first, each to the server that has the fewest bytes so far. Those that the step
// does not update stay with the workers. Errors (usage): a name that is not of a parameter the step updates, more
// servers than parameters.
ServerPlan plan_servers(const Graph& step, const Distribution& over);

}  // namespace ridgeline
