// `ridgeline graph`: step graphs as text files, without C++.
#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/graph_tools.h"
#include "ridgeline/core/file.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/passes.h"

namespace ridgeline::cli {

void add_graph_file(Command& app, std::string& file) {
  app.option("FILE", file, "graph as text (format: docs/graph.md)").required();
}

Graph read_graph(const std::string& file) {
  Graph graph = parse_graph(read_file(file), file, {.lines = true});
  verify(graph);
  return graph;
}

void add_graph_run_flags(Command& app, GraphRunFlags& f) {
  app.option("--seed", f.seed, "seed of the random values of arguments");
  app.boolean("--fusion", f.compile.fusion,
              "merge ops into loops and epilogues: True or False; default: as far as the device can");
  app.option("--disable_pass", f.compile.disabled_passes, "skip this compiler pass; may be given several times");
  app.option("--device", f.session.device, "device to run on: " + device_names());
  app.boolean("--allow_soft_placement", f.compile.soft_placement,
              "run ops for which the device has no kernel on the CPU; False: refuse them");
  app.boolean("--log_device_placement", f.log_device_placement, "log each op that is moved to the CPU, and why");
  app.option("--intra_op_parallelism_threads", f.session.compute_threads, "compute threads; 0: one per core");
  app.option("--inter_op_parallelism_threads", f.session.parallel_launches,
             "launches that run at the same time and share the compute threads; 0: one after the other");
  app.option("--dump_ir", f.compile.dump_directory, "write the graph after every compiler pass into this folder");
  app.option("--log", f.session.log, "diagnostics to log, comma-separated: dispatch, placement, memory, passes");
}

void finish(GraphRunFlags& flags) {
  check_disabled_passes(flags.compile.disabled_passes);
  device_named(flags.session.device);
  flags.compile.verify = true;
  if (flags.log_device_placement) flags.session.log += flags.session.log.empty() ? "placement" : ",placement";
}

int graph_command(const Words& words) {
  Command app("show, check, run or time a computation graph from a file", "graph");
  const std::vector<GraphTool> tools{add_graph_show(app), add_graph_check(app), add_graph_run(app),
                                     add_graph_bench(app)};
  if (!app.parse(words)) return 0;
  for (const GraphTool& tool : tools) {
    if (tool.app->called()) return tool.run();
  }
  return 0;
}

}  // namespace ridgeline::cli
