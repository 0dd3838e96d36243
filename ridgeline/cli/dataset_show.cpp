// `dataset show`: a data graph as text, SVG or JSON, before and after the passes, with the passes that changed it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <nlohmann/json.hpp>

#include "ridgeline/cli/dataset_tools.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/data.h"
#include "ridgeline/data/draw/draw.h"
#include "ridgeline/data/pass/passes.h"
#include "ridgeline/train/datasets.h"

namespace ridgeline::cli {
namespace {

struct ShowOptions {
  std::string graph;     // a file: this engine's data graph or MindData's tree
  train::Recipe recipe;  // or the graph that training on --data_dir uses
  bool evaluation = false;
  std::string svg;
  bool before = false, after = false, both = false;
  std::vector<std::string> disabled;
  bool raw_images = false, open_files = false;
  bool json = false, minddata = false;
  std::string pixels = "exact";
};

data::MindDataOptions minddata_options(const ShowOptions& options) {
  if (options.pixels != "exact" && options.pixels != "pillow")
    throw Error("--pixels=" + options.pixels + " (allowed: exact, pillow)", ErrorKind::usage);
  return {.pixels = options.pixels == "pillow" ? data::MindDataPixels::pillow : data::MindDataPixels::exact};
}

// MindData's trees are told by the key that all their nodes have.
data::Dataset read_graph(const ShowOptions& options) {
  const std::string text = read_file(options.graph);
  const nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
  const bool minddata = root.is_object() && (root.contains("op_type") || root.contains("tree"));
  try {
    return data::Dataset(minddata ? data::from_minddata_json(text, minddata_options(options))
                                  : data::graph_from_json(text));
  } catch (const Error& e) {
    throw Error(options.graph + ": " + e.what());
  }
}

data::Dataset graph_to_show(const ShowOptions& options) {
  if (options.graph.empty() == options.recipe.data_dir.empty())
    throw Error("dataset show: give one of --graph and --data_dir", ErrorKind::usage);
  if (!options.graph.empty()) return read_graph(options);
  const train::RunData data =
      train::open_data(options.recipe, {.training = !options.evaluation, .validation = options.evaluation});
  return options.evaluation ? *data.validation : *data.training;
}

int run(const ShowOptions& options) {
  if (options.before + options.after + options.both > 1 || options.json + options.minddata > 1)
    throw Error("dataset show: give one of --before, --after and --both, and one of --json and --minddata",
                ErrorKind::usage);
  const data::DataGraph before = graph_to_show(options).graph();
  std::vector<std::string> changed;
  data::DataGraph last = before;
  const data::DataGraph after = data::prepare(before, options.raw_images, options.disabled,
                                              [&](const std::string& pass, const data::DataGraph& g) {
                                                if (!(g == last)) changed.push_back(pass);
                                                last = g;
                                              });
  if (options.json || options.minddata) {
    const data::DataGraph& graph = options.after ? after : before;
    fmt::print("{}\n",
               options.json ? data::to_json(graph, 2) : data::to_minddata_json(graph, 2, minddata_options(options)));
  }
  const data::DrawOptions draw{.open_files = options.open_files || !options.recipe.data_dir.empty()};
  const std::string passes =
      changed.empty() ? "no pass changed it" : fmt::format("changed by {}", fmt::join(changed, ", "));
  if (!options.json && !options.minddata) {
    if (!options.after) fmt::print("before the passes\n{}", data::to_text(before, draw));
    if (!options.before) {
      fmt::print("{}after the passes: {}\n{}", options.after ? "" : "\n", passes, data::to_text(after, draw));
    }
  }
  if (options.svg.empty()) return 0;
  std::vector<data::Drawing> drawings;
  if (!options.after) drawings.push_back({.title = "before the passes", .graph = before});
  if (!options.before) drawings.push_back({.title = "after the passes", .graph = after, .notes = {passes}});
  write_file_atomically(options.svg, data::to_svg(drawings, draw));
  std::fprintf(stderr, "drawn into %s\n", options.svg.c_str());
  return 0;
}

}  // namespace

DatasetTool add_dataset_show(CLI::App& app) {
  const auto owned = std::make_shared<ShowOptions>();
  ShowOptions& options = *owned;
  CLI::App* show = app.add_subcommand("show", "a data graph before and after the passes");
  show->add_option("--graph", options.graph, "JSON file of a data graph, or MindData's serialised tree");
  show->add_option("--data_dir", options.recipe.data_dir, "instead: the graph that training on this folder uses");
  show->add_option("--model", options.recipe.model, "with --data_dir: whose image size and normalisation")
      ->capture_default_str();
  show->add_option("--image_size", options.recipe.image_size, "with --data_dir: 0 is the model's own")
      ->capture_default_str();
  show->add_option("--batch_size", options.recipe.batch_size, "with --data_dir")->capture_default_str();
  add_boolean(*show, "--evaluation", options.evaluation, "with --data_dir: the graph of the validation part");
  show->add_option("--svg", options.svg, "draw into this file");
  add_boolean(*show, "--before", options.before, "only the graph before the passes");
  add_boolean(*show, "--after", options.after, "only the graph after the passes");
  add_boolean(*show, "--both", options.both, "both, which is the default");
  show->add_option("--disable_pass", options.disabled, "leave this pass out; may be given several times")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_boolean(*show, "--raw_images", options.raw_images, "the passes for flip and normalise in the training step");
  add_boolean(*show, "--open_files", options.open_files, "open the sources to tell numbers of rows");
  add_boolean(*show, "--json", options.json, "print the graph as JSON instead");
  add_boolean(*show, "--minddata", options.minddata, "print the graph as MindData's tree instead");
  show->add_option("--pixels", options.pixels,
                   "MindData's filters: exact, or pillow to let Pillow's stand for OpenCV's")
      ->capture_default_str();
  return {show, [owned] { return run(*owned); }};
}

}  // namespace ridgeline::cli
