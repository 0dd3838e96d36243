// ridgeline/cli/dataset_tools.h
//
// The subcommands of `ridgeline dataset`, one file each: dataset_<name>.cpp adds its flags and prints what the function
// of data/tool returns.
#pragma once

#include <functional>

#include "ridgeline/cli/flags.h"
#include "ridgeline/data/make/make_shapes.h"

namespace ridgeline::cli {

// A subcommand and the function that runs it once its flags are parsed. `run` owns the flags' values.
struct DatasetTool {
  Command* app = nullptr;
  std::function<int()> run;
};

DatasetTool add_dataset_make(Command& dataset);
DatasetTool add_dataset_inspect(Command& dataset);
DatasetTool add_dataset_preview(Command& dataset);
DatasetTool add_dataset_bench(Command& dataset);
DatasetTool add_dataset_export(Command& dataset);
DatasetTool add_dataset_pack(Command& dataset);
DatasetTool add_dataset_show(Command& dataset);

// Shows a counter on a terminal, nothing elsewhere. Any thread, one at a time.
data::Progress counter(const char* what);

}  // namespace ridgeline::cli
