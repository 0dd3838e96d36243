// ridgeline/cli/dataset_tools.h
//
// The subcommands of `ridgeline dataset`, one file each: dataset_<name>.cpp adds its flags and prints what the function
// of data/tool returns.
#pragma once

#include <functional>

#include "ridgeline/cli/arguments.h"
#include "ridgeline/data/make/make_shapes.h"

namespace ridgeline::cli {

// A subcommand and what runs it once its flags are parsed. `run` owns the flags' values.
struct DatasetTool {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

DatasetTool add_dataset_make(CLI::App& dataset);
DatasetTool add_dataset_inspect(CLI::App& dataset);
DatasetTool add_dataset_preview(CLI::App& dataset);
DatasetTool add_dataset_bench(CLI::App& dataset);
DatasetTool add_dataset_export(CLI::App& dataset);
DatasetTool add_dataset_pack(CLI::App& dataset);
DatasetTool add_dataset_show(CLI::App& dataset);

// A counter on a terminal, nothing elsewhere. Any thread, one at a time.
data::Progress counter(const char* what);

}  // namespace ridgeline::cli
