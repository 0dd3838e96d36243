// `ridgeline graph`: step graphs as text files, without C++.
#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/graph_tools.h"
#include "ridgeline/core/file.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"
#include "ridgeline/graph/pass/passes.h"

namespace ridgeline::cli {

void add_graph_file(Command& app, std::string& file) {
  app.option("FILE", file, "a step graph as text (docs/graph.md)").required();
}

Graph read_graph(const std::string& file) {
  Graph graph = parse_graph(read_file(file), file, {.lines = true});
  verify(graph);
  return graph;
}

void add_graph_run_flags(Command& app, GraphRunFlags& f) {
  app.option("--seed", f.seed, "of the values that are drawn for arguments");
  app.boolean("--fusion", f.compile.fusion,
              "merge ops into loops and epilogues: on or off; not given: as far as the device can");
  app.option("--disable_pass", f.compile.disabled_passes, "leave this compiler pass out; may be given several times");
  app.option("--device", f.session.device, "where it runs: " + device_names());
  app.boolean("--allow_soft_placement", f.compile.soft_placement,
              "run ops that the device has no kernel for on the CPU instead of refusing them");
  app.boolean("--log_device_placement", f.log_device_placement, "name each op that is moved, and why");
  app.option("--intra_op_parallelism_threads", f.session.compute_threads, "compute threads; 0: one per core");
  app.option("--inter_op_parallelism_threads", f.session.parallel_launches,
             "launches side by side, which divide the compute threads; 0: one after the other");
  app.option("--dump_ir", f.compile.dump_directory, "write the graph after every compiler pass into this directory");
  app.option("--log", f.session.log, "diagnostics by commas: dispatch, placement, memory, passes");
}

void finish(GraphRunFlags& flags) {
  check_disabled_passes(flags.compile.disabled_passes);
  device_named(flags.session.device);
  flags.compile.verify = true;
  if (flags.log_device_placement) flags.session.log += flags.session.log.empty() ? "placement" : ",placement";
}

int graph_command(const Words& words) {
  Command app("step graphs in files: show, check, run and time them", "graph");
  const std::vector<GraphTool> tools{add_graph_show(app), add_graph_check(app), add_graph_run(app),
                                     add_graph_bench(app)};
  if (!app.parse(words)) return 0;
  for (const GraphTool& tool : tools) {
    if (tool.app->called()) return tool.run();
  }
  return 0;
}

}  // namespace ridgeline::cli
