#include "ridgeline/compile/compile.h"

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "ridgeline/compile/check_memory.h"
#include "ridgeline/compile/lower.h"
#include "ridgeline/compile/plan_memory.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/memory.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/passes.h"

namespace ridgeline {
namespace {

// Verifies and dumps what each pass has made, and says how long it took.
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
    }
    ops_ = graph.nodes.size();
    if (options_.verify) verify(graph);
    if (!options_.dump_directory.empty()) {
      char file[64];
      std::snprintf(file, sizeof file, "%02d_%s.rdg", step_, std::string(name).c_str());
      write_file_atomically((std::filesystem::path(options_.dump_directory) / file).string(), to_text(graph));
    }
    ++step_;
    begin_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Session& session_;
  const CompileOptions& options_;
  Clock::time_point begin_ = Clock::now();
  std::size_t ops_ = 0;
  int step_ = 0;
};

// A plan whose offsets are not planned yet.
Plan make_plan(const Graph& graph, Session& session, const CompileOptions& options, PassContext& context) {
  std::vector<std::string> disabled = options.disabled_passes;
  if (!options.fusion) {
    for (const std::string& name : fusion_passes()) disabled.push_back(name);
  }
  const Target target{session.device(), session.cpu(), options.soft_placement, session.log()};
  while (true) {
    Watch watch(session, options);
    watch("input", graph);
    context.fused.clear();
    Graph rewritten =
        run_passes(graph, context, disabled, [&](const Pass& pass, const Graph& made) { watch(pass.name, made); });
    check_memory(rewritten);
    Lowering lowering = lower(std::move(rewritten), target, session.parameters(), context.fused);
    if (lowering.refused.empty()) return std::move(lowering.plan);
    // Once more with the parts of those apart. Each is named once only, so this ends.
    for (const std::string& name : lowering.refused) {
      session.log().trace("dispatch", "fused op " + name + " is split: no kernel takes it");
      context.keep_apart.insert(name);
    }
  }
}

// What the passes count as live at one time differs from what the planner needs (workspaces, gaps, conversions), so a
// limit is approached in some rounds.
constexpr int kMostRounds = 8;

}  // namespace

std::unique_ptr<Program> compile(const Graph& graph, Session& session, const CompileOptions& options) {
  const ComputeScope team(session.compute_threads());
  PassContext context{.fusion = session.device().fusion_limits(), .keep_apart = {}, .fused = {}, .live = {}};
  for (int round = 0;; ++round) {
    Plan plan = make_plan(graph, session, options, context);
    const MemoryReport memory = plan_memory(plan, options.reuse_memory);
    const std::size_t limit = options.memory_limit;
    if (limit == 0 || memory.total() <= limit) return std::make_unique<Program>(session, std::move(plan), memory);
    const std::size_t excess = memory.total() - limit;
    if (context.live.exhausted || excess >= context.live.reached || round == kMostRounds) {
      throw Error("[memory] the limit of " + byte_text(static_cast<std::int64_t>(limit)) +
                  " cannot be met: the least that was found is " + needs_text(memory));
    }
    context.live.limit = context.live.reached - excess;
    session.log().trace("memory", memory.to_text() + ": " + byte_text(static_cast<std::int64_t>(excess)) +
                                      " too much, of " + byte_text(static_cast<std::int64_t>(context.live.reached)) +
                                      " that the ops keep alive");
  }
}

LaunchCounts count_launches(const Graph& graph, Session& session, const CompileOptions& options) {
  const ComputeScope team(session.compute_threads());
  PassContext context{.fusion = session.device().fusion_limits(), .keep_apart = {}, .fused = {}, .live = {}};
  return count_launches(make_plan(graph, session, options, context));
}

}  // namespace ridgeline
