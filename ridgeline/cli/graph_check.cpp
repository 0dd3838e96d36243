// `graph check`: whether a file holds a valid graph.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "ridgeline/cli/graph_tools.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/ir/verifier.h"

namespace ridgeline::cli {
namespace {

struct CheckFlags {
  std::string file, marked;
  bool json = false;
};

std::string plural(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

int run(const CheckFlags& flags) {
  const Graph graph = parse_graph(read_file(flags.file), flags.file, {.lines = true});
  try {
    verify(graph);
  } catch (const NodeError& error) {
    if (!flags.marked.empty())
      write_file_atomically(flags.marked, to_text(graph, {.locations = false, .mark = &error}));
    throw;
  }
  if (flags.json) {
    const nlohmann::json object{{"graph", graph.name},
                                {"arguments", graph.arguments.size()},
                                {"ops", graph.nodes.size()},
                                {"updates", graph.updates.size()},
                                {"returns", graph.returns.size()},
                                {"functions", graph.functions.size()}};
    fmt::print("{}\n", object.dump());
    return 0;
  }
  fmt::print("{}: graph @{} is valid: {}, {}, {}, {}, {}\n", printable(flags.file), graph.name,
             plural(graph.arguments.size(), "argument"), plural(graph.nodes.size(), "op"),
             plural(graph.updates.size(), "update"), plural(graph.returns.size(), "returned value"),
             plural(graph.functions.size(), "function"));
  return 0;
}

}  // namespace

GraphTool add_graph_check(Command& graph) {
  const auto owned = std::make_shared<CheckFlags>();
  CheckFlags& flags = *owned;
  Command& app = graph.subcommand("check", "check that a graph is valid; an error has file, line and op");
  add_graph_file(app, flags.file);
  app.option("--marked", flags.marked, "on an invalid op, write the graph with that op marked to this file");
  app.flag("--json", flags.json, "print one JSON object");
  return {&app, [owned] { return run(*owned); }};
}

}  // namespace ridgeline::cli
