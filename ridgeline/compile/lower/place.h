// ridgeline/compile/lower/place.h
//
// Which device runs each op: the target's, if one of its kernels takes the op on plain operands, else the CPU if soft
// placement is on (the log's component "placement" names the op and the reasons).
#pragma once

#include <string>
#include <vector>

#include "ridgeline/compile/lower/target.h"
#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

struct Placement {
  std::vector<Device*> devices;      // one for each op
  std::vector<std::string> refused;  // ops of `fused` that the device does not take: to be split and placed again
  std::vector<std::string> moved;    // ops that run on the CPU instead
};

// `fused`: names of the ops into which others were merged. Without soft placement an op that the device does not take
// is an Error with every refusal and its reason.
Placement place(const Graph& graph, const Target& target, const NameSet& fused);

}  // namespace ridgeline
