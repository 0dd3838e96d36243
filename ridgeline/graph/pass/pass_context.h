// ridgeline/graph/pass/pass_context.h
//
// What a pass knows in addition to the graph, and what passes report to later ones and to compilation. Both are plain
// values: a context is made by whoever runs the passes and does not change; results are those of one run.
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

// How many FLOPs take as long as moving one byte through memory, for ops that read bf16 and for all others. Orders of
// magnitude: only comparisons between ops matter.
struct FlopsPerByte {
  double wide = 10;
  double bf16 = 10;
};

struct PassContext {
  FusionLimits fusion;      // of the device that the graph is for
  NameSet keep_apart = {};  // names of ops into which nothing is merged, because no kernel takes the merged op
  PrecisionPolicy precision = {};
  // Whether the device has a kernel of the op that reads and writes values of this type; empty: always.
  std::function<bool(std::string_view op, DType dtype)> takes = {};
  // Whether the device runs `merged` by the same kernel as `plain`, the op into which others were merged. If not, a
  // worse kernel may cost more than the merge saves. Empty: always.
  std::function<bool(const Graph& graph, const Node& plain, const Node& merged)> keeps_kernel = {};
  // Bytes of intermediate values that may be alive at one time, as the pass `recompute` counts them; 0: no limit, only
  // recomputation that costs almost nothing is done.
  std::size_t live_limit = 0;
  FlopsPerByte flops_per_byte = {};  // of that device
  Distribution distribution = {};
};

// Bytes of intermediate values that are alive at one time, as the pass `recompute` counts them.
struct LiveBytes {
  std::size_t before = 0;   // without the pass
  std::size_t reached = 0;  // with the pass
  std::size_t again = 0;    // ops that the pass added
  bool exhausted = false;   // the pass cannot reach the limit
};

struct PassResults {
  NameSet fused;  // names of ops into which others were merged
  // For each loop, the names of the ops merged into it.
  std::map<std::string, std::vector<std::string>, std::less<>> loops;
  std::vector<std::string> warnings;  // what the user asked for without effect
  LiveBytes live;
  NameSet parts;          // names of stored values of which each rank has a shard
  NameSet undivided;      // names of the ops of the whole step, if a rank runs only some of them
  std::string exchanges;  // what the ranks exchange in a step, for the log
  std::string plan;       // how the ranks divide the step, for the log
};

}  // namespace ridgeline
