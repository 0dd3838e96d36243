#include "ridgeline/compile/compile.h"

#include <cstdio>
#include <filesystem>

#include "ridgeline/compile/check_memory.h"
#include "ridgeline/compile/lower.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/fuse_epilogue.h"
#include "ridgeline/graph/pass/fuse_pointwise.h"
#include "ridgeline/graph/pass/inline.h"
#include "ridgeline/graph/pass/schedule.h"
#include "ridgeline/graph/pass/simplify.h"

namespace ridgeline {
namespace {

// Runs passes one after the other; verifies and dumps what each has made.
class Pipeline {
 public:
  Pipeline(Graph graph, Session& session, const CompileOptions& options)
      : graph_(std::move(graph)), session_(session), options_(options) {
    make_directories(options.dump_directory);
    after("input");
  }

  void run(const char* name, Graph (*pass)(Graph)) {
    TraceSpan span(session_.trace(), "compile", name);
    const std::size_t before = graph_.nodes.size();
    graph_ = pass(std::move(graph_));
    session_.log().trace("passes", std::string(name) + ": " + std::to_string(before) + " -> " +
                                       std::to_string(graph_.nodes.size()) + " ops");
    after(name);
  }

  Graph take() { return std::move(graph_); }

 private:
  void after(const char* name) {
    if (options_.verify) verify(graph_);
    if (options_.dump_directory.empty()) return;
    char file[64];
    std::snprintf(file, sizeof file, "%02d_%s.rdg", step_++, name);
    write_file_atomically((std::filesystem::path(options_.dump_directory) / file).string(), to_text(graph_));
  }

  Graph graph_;
  Session& session_;
  const CompileOptions& options_;
  int step_ = 0;
};

}  // namespace

std::unique_ptr<Program> compile(const Graph& graph, Session& session, const CompileOptions& options) {
  const ComputeScope team(session.compute_threads());
  Pipeline pipeline(graph, session, options);
  pipeline.run("inline", inline_calls);
  pipeline.run("simplify", simplify);
  if (options.fusion) {
    pipeline.run("fuse_epilogue", fuse_epilogue);
    pipeline.run("fuse_pointwise", fuse_pointwise);
  }
  pipeline.run("schedule", schedule);
  Graph scheduled = pipeline.take();
  check_memory(scheduled);
  Plan plan = lower(std::move(scheduled), session, options.soft_placement);
  return std::make_unique<Program>(session, std::move(plan), options.reuse_memory);
}

}  // namespace ridgeline
