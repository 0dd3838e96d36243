// ridgeline/cli/graph_tools.h
//
// The subcommands of `ridgeline graph`, one file each: graph_<name>.cpp adds its flags and prints.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ridgeline/cli/flags.h"
#include "ridgeline/compile/compile.h"

namespace ridgeline::cli {

// A subcommand and the function that runs it once its flags are parsed. `run` owns the flags' values.
struct GraphTool {
  Command* app = nullptr;
  std::function<int()> run;
};

GraphTool add_graph_show(Command& graph);
GraphTool add_graph_check(Command& graph);
GraphTool add_graph_run(Command& graph);
GraphTool add_graph_bench(Command& graph);

// Adds the argument for a graph's file. Errors of reading it name file, line and op.
void add_graph_file(Command& app, std::string& file);
Graph read_graph(const std::string& file);

// How a graph is compiled and where it runs.
struct GraphRunFlags {
  SessionOptions session;
  CompileOptions compile;
  bool log_device_placement = false;
  std::uint64_t seed = 1;
};
void add_graph_run_flags(Command& app, GraphRunFlags& flags);
// Call after parsing: an unknown pass or device is an Error, log_device_placement becomes a component of the log.
void finish(GraphRunFlags& flags);

}  // namespace ridgeline::cli
