// ridgeline/compile/compile.h
//
// Graph to program, on a copy: compiling twice gives two independent programs, and the user's graph is never changed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/compile/run/program.h"
#include "ridgeline/graph/pass/distribution.h"
#include "ridgeline/graph/pass/precision_policy.h"

namespace ridgeline {

struct CompileOptions {
  // Merge pointwise chains and epilogues. Not set: as far as the device can. true: an Error (usage) on a device that
  // has no compiler for fused loops (fusion_switch.h). false: the passes that fuse are left out.
  std::optional<bool> fusion;
  std::vector<std::string> disabled_passes;  // left out, by name (graph/pass/passes.h)
  PrecisionPolicy precision;                 // which values are stored as bf16 or f16
  bool reuse_memory = true;                  // let values share addresses when their lifetimes do not overlap
  bool soft_placement = true;    // run ops that the device has no kernel for on the CPU instead of refusing them
  Distribution distribution;     // of a training step over ranks; the session must have them as a group
  std::size_t memory_limit = 0;  // bytes: values beyond it are recomputed, if cheap, instead of kept; 0: no limit
  // If not empty: writes for each pass a numbered file in both formats, .rdg (graph/ir/text.h) and .ir (forms.h). An
  // error about one op marks it in a last file, ..._failed.
  std::string dump_directory;
  // Whether the verifiers run after every pass (graph/ir/verifier.h) and every step of lowering (verify_plan.h). On the
  // given graph, and on the plan that a program runs, they always do.
#ifdef NDEBUG
  bool verify = false;
#else
  bool verify = true;
#endif
};

// An op that no kernel takes is an Error with every refusal and its reason; so is a memory limit that cannot be met,
// with the smallest possible one.
std::unique_ptr<Program> compile(const Graph& graph, Session& session, const CompileOptions& options = {});

// What compile makes a program from: launches with planned memory and lanes.
struct Planned {
  Plan plan;
  MemoryReport memory;
};
Planned plan_program(const Graph& graph, Session& session, const CompileOptions& options = {});

// The graph that a program would run: after all passes, with fused ops split up again if no kernel of the session's
// device takes them. Exchanges need no ranks.
Graph final_graph(const Graph& graph, Session& session, const CompileOptions& options = {});

// Counts a program's launches without allocating its memory: for comparing options.
LaunchCounts count_launches(const Graph& graph, Session& session, const CompileOptions& options = {});

}  // namespace ridgeline
