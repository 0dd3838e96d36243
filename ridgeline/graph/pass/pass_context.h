// ridgeline/graph/pass/pass_context.h
//
// What a pass knows beside the graph, and what passes find out that later ones and compilation read. Both are plain
// values: a context is made by whoever runs the passes and stays as it is, results are those of one run.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ridgeline/graph/pass/distribution.h"
#include "ridgeline/graph/pass/fusion_limits.h"
#include "ridgeline/graph/pass/precision_policy.h"
#include "ridgeline/graph/pass/rewrite.h"

namespace ridgeline {

// FLOPs that take as long as a byte through memory, of ops that read bf16 and of all others. Orders of magnitude: only
// relations between ops matter.
struct FlopsPerByte {
  double wide = 10;
  double bf16 = 10;
};

struct PassContext {
  FusionLimits fusion;      // of the device that the graph is for
  NameSet keep_apart = {};  // ops, by name, into which nothing is merged: no kernel took what came of it
  PrecisionPolicy precision = {};
  // Whether the device has a kernel of the op that reads and writes values of this type; empty: it has.
  std::function<bool(std::string_view op, DType dtype)> takes = {};
  // Whether the device computes `merged` by the kernel that would take `plain`, the op into which others were merged:
  // where it does not, what the merge saves may be less than the worse kernel costs. Empty: it does.
  std::function<bool(const Graph& graph, const Node& plain, const Node& merged)> keeps_kernel = {};
  // Bytes of intermediate values that may be alive at one time, as the pass `recompute` counts them; 0: what costs next
  // to nothing is done.
  std::size_t live_limit = 0;
  FlopsPerByte flops_per_byte = {};  // of that device
  Distribution distribution = {};
};

// Bytes of intermediate values that are alive at one time, as the pass `recompute` counts them.
struct LiveBytes {
  std::size_t before = 0;   // without the pass
  std::size_t reached = 0;  // with it
  std::size_t again = 0;    // ops that it added
  bool exhausted = false;   // nothing that it can do gets to the limit
};

struct PassResults {
  NameSet fused;  // ops, by name, into which others were merged
  // Of a loop, the ops that it is made of, by name.
  std::map<std::string, std::vector<std::string>, std::less<>> loops;
  std::vector<std::string> warnings;  // what the user asked for and nothing came of it
  LiveBytes live;
  NameSet parts;          // stored values, by name, of which each rank has a part
  NameSet undivided;      // ops, by name, of the step of all ranks together, where a rank runs a part of them
  std::string exchanges;  // what the ranks exchange in a step, for the log
  std::string plan;       // how the ranks divide the step, for the log
};

}  // namespace ridgeline
