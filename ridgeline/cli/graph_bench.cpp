// `graph bench`: how long a graph takes, compared with the machine's limit.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "ridgeline/cli/graph_tools.h"
#include "ridgeline/cli/step_tables.h"
#include "ridgeline/compile/run/graph_run.h"
#include "ridgeline/compile/run/measure.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/threads.h"

namespace ridgeline::cli {
namespace {

struct GraphBenchFlags {
  std::string file;
  GraphRunFlags how;
  int runs = 21;
  bool layers = false, json = false;
};

// Launches of the last run, without derived forms that were still valid and did not run.
std::vector<LaunchReport> launches_of(const Program& program) {
  std::vector<LaunchReport> launches = program.launches();
  std::erase_if(launches, [](const LaunchReport& launch) { return !launch.ran; });
  return launches;
}

int run(const GraphBenchFlags& given) {
  GraphBenchFlags flags = given;
  if (flags.runs < 1) throw Error("graph bench: --runs must be 1 or more", ErrorKind::usage);
  finish(flags.how);
  const Graph graph = read_graph(flags.file);
  const Arguments arguments = draw_arguments(graph, flags.how.seed);
  GraphRun run(graph, flags.how.session, flags.how.compile);
  run.set(arguments);
  Program& program = run.program();
  const ComputeScope team(
      run.session()
          .compute_threads());  // entered once: entering it for each run would dominate the time of small graphs
  const RunTimes times = time_runs(program, flags.runs);
  program.set_profiling(true);
  program.run();
  const std::vector<LaunchReport> launches = launches_of(program);
  double flops = 0, bytes = 0;
  for (const LaunchReport& launch : launches) {
    flops += launch.cost.flops;
    bytes += launch.cost.bytes;
  }
  const DeviceRates limits = run.session().device().measured_rates().best;
  const double limit = milliseconds_at_limit(launches, limits);
  const std::string isa = run.session().device().architecture();
  if (flags.json) {
    const nlohmann::json object{{"graph", graph.name},
                                {"device", flags.how.session.device},
                                {"isa", isa},
                                {"ms", times.milliseconds},
                                {"ms_fastest", times.fastest},
                                {"ms_slowest", times.slowest},
                                {"runs", times.runs},
                                {"launches", launches.size()},
                                {"gflops", flops / times.milliseconds / 1e6},
                                {"gigabytes_per_second", bytes / times.milliseconds / 1e6},
                                {"peak_gflops", limits.f32_flops / 1e9},
                                {"peak_bf16_gflops", limits.bf16_flops / 1e9},
                                {"peak_gigabytes_per_second", limits.memory_bytes / 1e9},
                                {"ms_at_limit", limit},
                                {"share_of_limit", limit / times.milliseconds},
                                {"warnings", program.warnings()}};
    fmt::print("{}\n", object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return 0;
  }
  if (flags.layers) fmt::print("{}", launch_table(launches, limits, 0));
  fmt::print("{:.4f} ms ({:.4f} to {:.4f}, {} runs), {} launches, {:.1f} GFLOP/s, {:.1f} GB/s\n", times.milliseconds,
             times.fastest, times.slowest, times.runs, launches.size(), flops / times.milliseconds / 1e6,
             bytes / times.milliseconds / 1e6);
  fmt::print("the machine's limit, measured ({:.0f} GFLOP/s {}, {:.1f} GB/s from memory): {:.4f} ms, share {:.2f}{}\n",
             limits.f32_flops / 1e9, isa, limits.memory_bytes / 1e9, limit, limit / times.milliseconds,
             limit > times.milliseconds ? " (from caches)" : "");
  for (const std::string& line : program.warnings()) fmt::print("warning: {}\n", line);
  return 0;
}

}  // namespace

GraphTool add_graph_bench(Command& graph) {
  const auto owned = std::make_shared<GraphBenchFlags>();
  GraphBenchFlags& flags = *owned;
  Command& app = graph.subcommand("bench", "time a graph on random values and compare it with the machine's limits");
  add_graph_file(app, flags.file);
  app.option("--runs", flags.runs, "number of timed runs; the median is printed");
  app.flag("--layers", flags.layers, "print the time of every launch");
  app.flag("--json", flags.json, "print one JSON object");
  add_graph_run_flags(app, flags.how);
  return {&app, [owned] { return run(*owned); }};
}

}  // namespace ridgeline::cli
