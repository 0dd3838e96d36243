// `dataset show`: a data graph as text, SVG or JSON, before and after the passes, with the passes that changed it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "ridgeline/cli/dataset_tools.h"
#include "ridgeline/cli/pipeline_flags.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/data/draw/draw.h"
#include "ridgeline/data/ir/graph.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::cli {
namespace {

struct ShowFlags {
  PipelineFlags pipeline;
  std::string svg;
  bool before = false, after = false;
  std::vector<std::string> disabled;
  bool raw = false, open_files = false;
  bool json = false, minddata = false;
  std::string release = "current";

  bool text() const { return !json && !minddata; }
  bool drawn() const { return text() || !svg.empty(); }
  // Whether the graph after the passes is wanted.
  bool prepared() const { return after || (drawn() && !before); }
};

void check(const Command& app, const ShowFlags& flags) {
  if ((flags.before && flags.after) || (flags.json && flags.minddata))
    throw Error("dataset show: --before and --after exclude each other, and so do --json and --minddata",
                ErrorKind::usage);
  if (flags.release != "current" && flags.release != "1.3")
    throw Error("--release=" + flags.release + " (allowed: current, 1.3)", ErrorKind::usage);
  const auto refuse = [&](const char* flag, bool effect, const char* without) {
    if (app.given(flag) && !effect) throw Error(fmt::format("{} has no effect {}", flag, without), ErrorKind::usage);
  };
  refuse("--raw", flags.prepared(), "on the graph before the passes: give --after");
  refuse("--disable_pass", flags.prepared(), "on the graph before the passes: give --after");
  refuse("--open_files", flags.drawn(), "on the JSON of a graph");
  refuse("--release", flags.minddata, "without --minddata");
}

void print_json(const data::DataGraph& graph, const ShowFlags& flags) {
  data::MindDataOptions options = minddata_options(flags.pipeline);
  if (flags.release == "1.3") options.release = data::MindDataRelease::r1_3;
  fmt::print("{}\n", flags.json ? data::to_json(graph, 2) : data::to_minddata_json(graph, 2, options));
}

int run(const Command& app, const ShowFlags& flags) {
  check(app, flags);
  const data::DataGraph before = graph_of(app, flags.pipeline);
  data::DataGraph after;
  std::string passes = "no pass changed it";
  if (flags.prepared()) {
    std::vector<std::string> changed;
    data::DataGraph last = before;
    after = data::prepare(before, flags.raw, flags.disabled, [&](const std::string& pass, const data::DataGraph& g) {
      if (!(g == last)) changed.push_back(pass);
      last = g;
    });
    if (!changed.empty()) passes = fmt::format("changed by {}", fmt::join(changed, ", "));
  }
  const bool opens = app.given("--open_files") ? flags.open_files : !flags.pipeline.data_dir.empty();
  const data::DrawOptions draw{.open_files = opens};
  if (!flags.text()) {
    print_json(flags.after ? after : before, flags);
  } else {
    if (!flags.after) fmt::print("before the passes\n{}", data::to_text(before, draw));
    if (!flags.before)
      fmt::print("{}after the passes: {}\n{}", flags.after ? "" : "\n", passes, data::to_text(after, draw));
  }
  if (flags.svg.empty()) return 0;
  std::vector<data::Drawing> drawings;
  if (!flags.after) drawings.push_back({.title = "before the passes", .graph = before});
  if (!flags.before) drawings.push_back({.title = "after the passes", .graph = after, .notes = {passes}});
  write_file_atomically(flags.svg, data::to_svg(drawings, draw));
  std::fprintf(stderr, "drawn into %s\n", printable(flags.svg).c_str());
  return 0;
}

}  // namespace

DatasetTool add_dataset_show(Command& dataset) {
  const auto owned = std::make_shared<ShowFlags>();
  ShowFlags& flags = *owned;
  Command& app = dataset.subcommand("show", "print a data graph before and after its optimization passes");
  app.option("--svg", flags.svg, "also draw the graph into this SVG file");
  app.boolean("--before", flags.before, "print only the graph before the passes");
  app.boolean("--after", flags.after, "print only the graph after the passes");
  app.option("--disable_pass", flags.disabled, "skip this pass; may be given several times");
  app.boolean("--raw", flags.raw, "run the passes as for a training that flips and normalises in its compiled step");
  app.boolean("--open_files", flags.open_files,
              "open the data files to show numbers of rows; default: True with --data_dir");
  app.boolean("--json", flags.json, "print the graph as JSON instead");
  app.boolean("--minddata", flags.minddata, "print the graph in MindData's JSON format instead");
  app.option("--release", flags.release,
             "with --minddata: format of MindSpore 1.3 (1.3) or of today's MindSpore (current)");
  add_pipeline_flags(app, flags.pipeline);
  return {&app, [&app, owned] { return run(app, *owned); }};
}

}  // namespace ridgeline::cli
