// ridgeline/graph/pass/server_plan.h
//
// Which parameter server keeps which parameter.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/distribution.h"

namespace ridgeline {

struct ServerPlan {
  std::map<std::string, int, std::less<>> server;  // by parameter: from 0
  std::vector<std::size_t> bytes;                  // of the parameters of each server
  std::size_t updated = 0;                         // parameters of the step that are updated, on servers or not

  std::size_t all_bytes() const;
  // For the log: how many parameters are on servers, what each has, and what a worker sends and gets in a step.
  std::string text() const;
};

// Whole parameters, the largest first, each to the server that has least so far. Those that the step does not update
// stay with the workers. Errors (usage): a name that the step updates no parameter of, more servers than parameters.
ServerPlan plan_servers(const Graph& step, const Distribution& over);

}  // namespace ridgeline
