#include "ridgeline/compile/compile.h"

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "ridgeline/compile/check_memory.h"
#include "ridgeline/compile/lower.h"
#include "ridgeline/compile/phase.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/graph/ir/forms.h"
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
    name_ = name;
    if (!options_.dump_directory.empty()) last_ = graph;
    if (options_.verify) verify(graph);
    dump(std::string(name), graph, nullptr);
    ++step_;
    begin_ = Clock::now();
  }

  // What works on the last graph now, for the name of a dump.
  void now(std::string_view name) { name_ = name; }

  // The error that says where its op is marked in a dump of the last graph, where dumps are written.
  NodeError marked(const NodeError& error) {
    if (options_.dump_directory.empty()) return error;
    const std::string file = dump(name_ + "_failed", last_, &error);
    return {std::string(error.what()) + " (marked in " + file + ")", error.graph(), error.node()};
  }

 private:
  using Clock = std::chrono::steady_clock;

  // One numbered file in each form; returns the path of the one that parses back.
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
  std::string name_;
  Graph last_;  // empty where nothing is dumped
};

std::unique_ptr<Program> compile_once(const Graph& graph, Session& session, const CompileOptions& options,
                                      const Target& target, PassContext& context, Watch& watch) {
  std::vector<std::string> disabled = options.disabled_passes;
  if (!options.fusion) {
    for (const std::string& name : fusion_passes()) disabled.push_back(name);
  }
  watch("input", graph);
  context.fused.clear();
  Graph rewritten =
      run_passes(graph, context, disabled, [&](const Pass& pass, const Graph& made) { watch(pass.name, made); });
  watch.now("lower");
  check_memory(rewritten);
  Lowering lowering = [&] {
    const Phase phase(session, "lower");
    return lower(std::move(rewritten), target, session.parameters(), context.fused);
  }();
  if (lowering.refused.empty()) {
    const Phase phase(session, "plan memory");
    return std::make_unique<Program>(session, std::move(lowering.plan), options.reuse_memory);
  }
  // Once more with the parts of those apart. Each is named once only, so this ends.
  for (const std::string& name : lowering.refused) {
    session.log().trace("dispatch", "fused op " + name + " is split: no kernel takes it");
    context.keep_apart.insert(name);
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Program> compile(const Graph& graph, Session& session, const CompileOptions& options) {
  const ComputeScope team(session.compute_threads());
  const Target target{session.device(), session.cpu(), options.soft_placement, session.log()};
  PassContext context{.fusion = session.device().fusion_limits(), .keep_apart = {}, .fused = {}};
  while (true) {
    Watch watch(session, options);
    try {
      if (auto program = compile_once(graph, session, options, target, context, watch)) return program;
    } catch (const NodeError& error) {
      throw watch.marked(error);
    }
  }
}

}  // namespace ridgeline
