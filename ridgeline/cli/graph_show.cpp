// `graph show`: a step graph in one of its formats, before or after the compiler's passes.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "ridgeline/cli/graph_tools.h"
#include "ridgeline/compile/compile.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/graph/draw/draw.h"
#include "ridgeline/graph/ir/forms.h"
#include "ridgeline/graph/ir/op_def.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/pass/passes.h"

namespace ridgeline::cli {
namespace {

struct GraphShowFlags {
  std::string file, format = "rdg", out;
  bool after = false, locations = false, json = false;
  std::string device = "cpu";
  std::vector<std::string> disabled;
};

nlohmann::json typed(const Graph& graph, ValueId id, const std::string& name) {
  const ValueInfo& info = graph.value(id);
  std::vector<std::int64_t> dims;
  for (int i = 0; i < info.type.shape.rank(); ++i) dims.push_back(info.type.shape[i]);
  return {{"value", "%" + name}, {"dtype", name_of(info.type.dtype)}, {"shape", dims}, {"kind", name_of(info.kind)}};
}

nlohmann::json to_json(const Graph& graph) {
  const std::map<ValueId, std::string> names = value_names(graph);
  const auto list = [&](const std::vector<ValueId>& ids) {
    nlohmann::json values = nlohmann::json::array();
    for (ValueId id : ids) values.push_back("%" + names.at(id));
    return values;
  };
  nlohmann::json object{{"name", graph.name},
                        {"arguments", nlohmann::json::array()},
                        {"ops", nlohmann::json::array()},
                        {"updates", nlohmann::json::array()},
                        {"returns", nlohmann::json::array()},
                        {"functions", nlohmann::json::array()}};
  for (ValueId id : graph.arguments) object["arguments"].push_back(typed(graph, id, names.at(id)));
  for (const Node& node : graph.nodes) {
    nlohmann::json results = nlohmann::json::array();
    for (ValueId id : node.outputs) results.push_back(typed(graph, id, names.at(id)));
    nlohmann::json op{{"op", node.op}, {"name", node.name}, {"operands", list(node.inputs)}, {"results", results}};
    for (const auto& [name, value] : node.attributes) op["attributes"][name] = to_string(value);
    if (!op_def(node.op).has(kCall)) {
      const Cost cost = cost_of(graph, node);
      op["flops"] = cost.flops;
      op["bytes"] = cost.bytes;
    }
    object["ops"].push_back(std::move(op));
  }
  for (const Update& update : graph.updates)
    object["updates"].push_back({{"value", "%" + names.at(update.current)}, {"next", "%" + names.at(update.next)}});
  for (const Return& r : graph.returns)
    object["returns"].push_back({{"name", r.name}, {"value", "%" + names.at(r.value)}});
  for (const auto& [name, function] : graph.functions) object["functions"].push_back(to_json(function));
  return object;
}

std::string to_json_text(const Graph& graph) {
  return to_json(graph).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// An output format by name. Only rdg can print source lines.
struct Format {
  const char* name;
  std::string (*print)(const Graph& graph, const GraphShowFlags& flags);
};
constexpr Format kFormats[] = {
    {"rdg", [](const Graph& g, const GraphShowFlags& f) { return to_text(g, {.locations = f.locations}); }},
    {"let", [](const Graph& g, const GraphShowFlags&) { return to_let_text(g); }},
    {"ir", [](const Graph& g, const GraphShowFlags&) { return to_entry_text(g); }},
    {"svg", [](const Graph& g, const GraphShowFlags&) { return to_svg(g); }},
    {"json", [](const Graph& g, const GraphShowFlags&) { return to_json_text(g); }}};

const Format& format_named(std::string_view name) {
  std::string allowed;
  for (const Format& format : kFormats) {
    if (name == format.name) return format;
    allowed += (allowed.empty() ? "" : ", ") + std::string(format.name);
  }
  throw Error(fmt::format("graph show: unknown --format={} (allowed: {})", name, allowed), ErrorKind::usage);
}

int show_graph(const Command& app, const GraphShowFlags& flags) {
  if (flags.json && app.given("--format")) throw Error("graph show: give one of --json and --format", ErrorKind::usage);
  const Format& format = format_named(flags.json ? "json" : flags.format);
  if (flags.locations && std::string_view(format.name) != "rdg")
    throw Error("graph show: --locations has no effect without --format=rdg", ErrorKind::usage);
  for (const char* flag : {"--disable_pass", "--device"}) {
    if (app.given(flag) && !flags.after)
      throw Error(std::string("graph show: ") + flag + " has no effect without --after", ErrorKind::usage);
  }
  check_disabled_passes(flags.disabled);
  device_named(flags.device);
  Graph graph = read_graph(flags.file);
  if (flags.after) {
    Session session({.device = flags.device});
    graph = final_graph(graph, session, {.disabled_passes = flags.disabled});
  }
  const std::string text = format.print(graph, flags);
  if (flags.out.empty())
    fmt::print("{}", text);
  else
    write_file_atomically(flags.out, text);
  return 0;
}

}  // namespace

GraphTool add_graph_show(Command& graph) {
  const auto owned = std::make_shared<GraphShowFlags>();
  GraphShowFlags& flags = *owned;
  Command& app = graph.subcommand("show", "print a graph as text, SVG or JSON");
  add_graph_file(app, flags.file);
  app.option("--format", flags.format,
             "output format: rdg (text that can be read again), let (functional notation), ir (MindSpore's format), "
             "svg or json");
  app.flag("--json", flags.json, "the same as --format=json");
  app.boolean(
      "--after", flags.after,
      "print the graph as compiled for the device: after all passes, without fused ops for which it has no kernel");
  app.option("--disable_pass", flags.disabled, "with --after: skip this pass; may be given several times");
  app.option("--device", flags.device, "with --after: device to compile for: " + device_names());
  app.flag("--locations", flags.locations, "with --format=rdg: print the source line of each op");
  app.option("--out", flags.out, "write to this file instead of standard output");
  return {&app, [&app, owned] { return show_graph(app, *owned); }};
}

}  // namespace ridgeline::cli
