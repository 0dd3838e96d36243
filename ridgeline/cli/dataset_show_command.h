// ridgeline/cli/dataset_show_command.h
//
// `dataset show`: a data graph as text, SVG or JSON, before and after the passes, with the passes that changed it.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/cli/arguments.h"
#include "ridgeline/train/recipe.h"

namespace ridgeline::cli {

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

// Adds the subcommand; `options` must outlive the parsing.
CLI::App* add_dataset_show(CLI::App& app, ShowOptions& options);
int run_dataset_show(const ShowOptions& options);

}  // namespace ridgeline::cli
