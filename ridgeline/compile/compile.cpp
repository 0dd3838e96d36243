#include "ridgeline/compile/compile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "ridgeline/compile/count_fusions.h"
#include "ridgeline/compile/fusion_switch.h"
#include "ridgeline/compile/lower/check_memory.h"
#include "ridgeline/compile/lower/first_accepting.h"
#include "ridgeline/compile/lower/lanes.h"
#include "ridgeline/compile/lower/lower.h"
#include "ridgeline/compile/lower/plan_memory.h"
#include "ridgeline/compile/lower/verify_plan.h"
#include "ridgeline/compile/run/phase.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/memory.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/graph/ir/forms.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/passes.h"

namespace ridgeline {
namespace {

// Verifies and dumps the result of each pass, and logs how long it took.
class Watch {
 public:
  Watch(Session& session, const CompileOptions& options) : session_(session), options_(options) {
    make_directories(options.dump_directory);
  }

  void operator()(std::string_view name, const Graph& graph) {
    const auto now = Clock::now();
    const double milliseconds = std::chrono::duration<double, std::milli>(now - begin_).count();
    if (step_ > 0) {
      if (Trace* trace = session_.trace()) trace->record("compile", name, begin_, now);
      char text[96];
      std::snprintf(text, sizeof text, ": %zu -> %zu ops in %.1f ms", ops_, graph.nodes.size(), milliseconds);
      session_.log().trace("passes", std::string(name) + text);
      changes_.push_back({std::string(name), ops_, graph.nodes.size()});
    }
    ops_ = graph.nodes.size();
    name_ = name;
    if (!options_.dump_directory.empty()) last_ = graph;
    if (options_.verify || step_ == 0) verify(graph);  // what is given may come from anywhere
    dump(std::string(name), graph, nullptr);
    ++step_;
    begin_ = Clock::now();
  }

  struct Change {
    std::string pass;
    std::size_t before, after;  // ops
  };
  const std::vector<Change>& changes() const { return changes_; }

  // Names the pass that works on the last graph, for the name of a dump.
  void now(std::string_view name) { name_ = name; }

  // The error, with the place where its op is marked in a dump of the last graph, if dumps are written.
  NodeError marked(const NodeError& error) {
    if (options_.dump_directory.empty()) return error;
    const std::string file = dump(name_ + "_failed", last_, &error);
    return {std::string(error.what()) + " (marked in " + file + ")", error.graph(), error.node()};
  }

 private:
  using Clock = std::chrono::steady_clock;

  // One numbered file in each format; returns the path of the one that parses back.
  std::string dump(const std::string& name, const Graph& graph, const NodeError* mark) const {
    if (options_.dump_directory.empty()) return "";
    char number[16];
    std::snprintf(number, sizeof number, "%02d_", step_);
    const std::string path = (std::filesystem::path(options_.dump_directory) / (number + name)).string();
    write_file_atomically(path + ".rdg", to_text(graph, {.mark = mark}));
    write_file_atomically(path + ".ir", to_entry_text(graph, mark));
    return path + ".rdg";
  }

  Session& session_;
  const CompileOptions& options_;
  Clock::time_point begin_ = Clock::now();
  std::size_t ops_ = 0;
  int step_ = 0;
  std::vector<Change> changes_;
  std::string name_;
  Graph last_;  // empty where nothing is dumped
};

// What the graph is compiled for. Fusion that the device does not have is refused here, before anything is written.
PassContext context_of(Session& session, const CompileOptions& options) {
  check_fusion(session.device(), options.fusion);
  if (!options.fusion && !compiles_loops(session.device())) {
    session.say_once("device " + std::string(session.device().name()) +
                     " has no compiler for fused loops: pointwise ops run one by one");
  }
  PassContext context{.fusion = session.device().fusion_limits()};
  context.precision = options.precision;
  context.distribution = options.distribution;
  const DeviceRates rates = session.device().rates();
  context.flops_per_byte = {rates.flops_per_byte(DType::f32), rates.flops_per_byte(DType::bf16)};
  context.takes = [&session](std::string_view op, DType dtype) {
    const std::vector<KernelEntry> entries = session.device().kernels(op);
    return std::any_of(entries.begin(), entries.end(),
                       [&](const KernelEntry& entry) { return entry.storage.contains(dtype); });
  };
  context.keeps_kernel = [&session](const Graph& graph, const Node& plain, const Node& merged) {
    return keeps_kernel(graph, plain, merged, session.device(), session.log());
  };
  return context;
}

Target target_of(Session& session, const CompileOptions& options) {
  return {session.device(), session.cpu(), options.soft_placement, session.log(), session.parallel_launches(),
          session.groups(), options.verify};
}

// The graph after all passes, and their results.
struct Rewritten {
  Graph graph;
  PassResults results;
};

Rewritten rewrite(const Graph& graph, Session& session, const CompileOptions& options, const PassContext& context,
                  Watch& watch) {
  std::vector<std::string> disabled = options.disabled_passes;
  if (!options.fusion.value_or(true)) {
    for (const std::string& name : fusion_passes()) disabled.push_back(name);
  }
  watch("input", graph);
  Rewritten made;
  PassResults& results = made.results;
  made.graph = run_passes(graph, context, results, disabled,
                          [&](const Pass& pass, const Graph& after) { watch(pass.name, after); });
  if (!results.exchanges.empty()) session.log().trace("passes", "data_parallel: " + results.exchanges);
  watch.now("lower");
  // An op that was to be kept apart and still exists was made by another pass (recompute): it runs where it can.
  std::erase_if(results.fused, [&](const std::string& name) { return context.keep_apart.contains(name); });
  return made;
}

// Rounds of compilation after which a loop that no kernel takes is split completely. Before, it loses only its last
// member: a kernel may take the rest.
constexpr int kShortened = 8;

// The state of a compilation, and how often it has restarted because something must be kept apart.
struct Compilation {
  PassContext context;
  int splits = 0;
};

// Each fused op is split once only, so rounds end.
void keep_apart(const std::vector<std::string>& refused, const PassResults& results, Session& session,
                Compilation& compilation) {
  NameSet& apart = compilation.context.keep_apart;
  ++compilation.splits;
  for (const std::string& name : refused) {
    session.log().trace("dispatch", "fused op " + name + " is split: no kernel takes it");
    apart.insert(name);
    if (const auto loop = results.loops.find(name); compilation.splits > kShortened && loop != results.loops.end())
      apart.insert(loop->second.begin(), loop->second.end());
  }
}

// A plan whose memory is not planned yet, with what `recompute` did.
struct MadePlan {
  Plan plan;
  LiveBytes live;
};

// Nothing where fused ops must be split first, which the context then says.
std::optional<MadePlan> try_plan(const Graph& graph, Session& session, const CompileOptions& options,
                                 Compilation& compilation, Watch& watch) {
  Rewritten made = rewrite(graph, session, options, compilation.context, watch);
  PassResults& results = made.results;
  check_memory(made.graph, session.device());
  Lowering lowering = [&] {
    const Phase phase(session, "lower");
    return lower(std::move(made.graph), target_of(session, options), session.parameters(), results.fused);
  }();
  if (lowering.refused.empty()) {
    auto& warnings = lowering.plan.warnings;
    warnings.insert(warnings.end(), results.warnings.begin(), results.warnings.end());
    lowering.plan.ranks_plan = results.plan;
    return MadePlan{std::move(lowering.plan), results.live};
  }
  keep_apart(lowering.refused, results, session, compilation);
  return std::nullopt;
}

// What `attempt(watch)` gives when nothing has to be split any more; errors of one op say where it is marked in a dump.
template <class Attempt>
auto until_taken(Session& session, const CompileOptions& options, Attempt attempt) {
  while (true) {
    Watch watch(session, options);
    try {
      if (auto taken = attempt(watch)) return std::move(*taken);
    } catch (const NodeError& error) {
      throw watch.marked(error);
    }
  }
}

MadePlan make_plan(const Graph& graph, Session& session, const CompileOptions& options, Compilation& compilation) {
  return until_taken(session, options,
                     [&](Watch& watch) { return try_plan(graph, session, options, compilation, watch); });
}

// The passes' count of live bytes differs from what the planner needs (workspaces, gaps, conversions), so a limit is
// approached in rounds.
constexpr int kMostRounds = 8;

}  // namespace

std::unique_ptr<Program> compile(const Graph& graph, Session& session, const CompileOptions& options) {
  const ComputeScope team(session.compute_threads());
  Planned planned = plan_program(graph, session, options);
  for (const std::string& line : planned.plan.warnings) session.log().warning(line);
  return std::make_unique<Program>(session, std::move(planned.plan), planned.memory);
}

Graph final_graph(const Graph& graph, Session& session, const CompileOptions& options) {
  const ComputeScope team(session.compute_threads());
  Compilation compilation{context_of(session, options)};
  return until_taken(session, options, [&](Watch& watch) -> std::optional<Graph> {
    Rewritten made = rewrite(graph, session, options, compilation.context, watch);
    const auto refused = refused_ops(made.graph, target_of(session, options), session.parameters(), made.results.fused);
    if (refused.empty()) return std::move(made.graph);
    keep_apart(refused, made.results, session, compilation);
    return std::nullopt;
  });
}

Planned plan_program(const Graph& graph, Session& session, const CompileOptions& options) {
  const ComputeScope team(session.compute_threads());
  Compilation compilation{context_of(session, options)};
  std::optional<MemoryReport> least;
  for (int round = 0;; ++round) {
    auto [plan, live] = make_plan(graph, session, options, compilation);
    MemoryReport memory = [&, &plan = plan] {
      const Phase phase(session, "plan memory");
      return plan_memory(plan, options.reuse_memory);
    }();
    memory.again = live.again;
    memory.spared = live.before - live.reached;
    if (options.verify) verify(plan, PlanStage::memory);
    const std::size_t limit = options.memory_limit;
    if (limit == 0 || memory.total() <= limit) {
      assign_lanes(plan, session.parallel_launches());
      const Phase phase(session, "verify plan");
      verify(plan, PlanStage::lanes);
      return {std::move(plan), memory};
    }
    if (!least || memory.total() < least->total()) least = memory;
    const std::size_t excess = memory.total() - limit;
    if (live.exhausted || live.reached == 0 || round == kMostRounds) {
      throw Error("[memory] the limit of " + byte_text(static_cast<std::int64_t>(limit)) +
                  " cannot be met: the least that was found is " + needs_text(*least));
    }
    // Where no order of ops could reach the limit, the next round finds out what can be reached.
    compilation.context.live_limit = live.reached > excess ? live.reached - excess : 1;
    session.log().trace("memory", memory.to_text() + ": " + byte_text(static_cast<std::int64_t>(excess)) +
                                      " too much, of " + byte_text(static_cast<std::int64_t>(live.reached)) +
                                      " that the ops keep alive");
  }
}

LaunchCounts count_launches(const Graph& graph, Session& session, const CompileOptions& options) {
  const ComputeScope team(session.compute_threads());
  Compilation compilation{context_of(session, options)};
  return count_launches(make_plan(graph, session, options, compilation).plan);
}

std::vector<FusionCount> count_fusions(const Graph& graph, Session& session, const CompileOptions& given) {
  const ComputeScope team(session.compute_threads());
  CompileOptions options = given;
  options.dump_directory.clear();
  Compilation compilation{context_of(session, options)};
  std::vector<FusionCount> counts;
  for (bool first = true, done = false; !done; first = false) {
    Watch watch(session, options);
    done = try_plan(graph, session, options, compilation, watch).has_value();
    std::size_t row = 0;
    for (const Watch::Change& change : watch.changes()) {
      const auto pass =
          std::find_if(passes().begin(), passes().end(), [&](const Pass& p) { return p.name == change.pass; });
      if (pass == passes().end() || !pass->fuses) continue;
      const std::size_t merged = change.before > change.after ? change.before - change.after : 0;
      if (first) counts.push_back({pass->name, merged, merged});
      counts[row++].effective = merged;
    }
  }
  return counts;
}

}  // namespace ridgeline
