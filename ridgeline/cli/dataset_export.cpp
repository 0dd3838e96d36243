#include <cstdio>
#include <memory>

#include "ridgeline/cli/dataset_tools.h"
#include "ridgeline/cli/pipeline_flags.h"
#include "ridgeline/core/file.h"

namespace ridgeline::cli {
namespace {

struct ExportFlags {
  PipelineFlags pipeline;
  std::string out;
};

int run_export(const Command& app, const ExportFlags& flags) {
  const std::string text = dataset_of(app, flags.pipeline).to_json(2) + "\n";
  if (flags.out.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
  } else {
    write_file_atomically(flags.out, text);
  }
  return 0;
}

}  // namespace

DatasetTool add_dataset_export(Command& dataset) {
  auto flags = std::make_shared<ExportFlags>();
  Command& app = dataset.subcommand(
      "export-json",
      "write the data graph of the training or evaluation pipeline as JSON, for --graph of the other commands");
  add_pipeline_flags(app, flags->pipeline, {.graph = false});
  app.option("--out", flags->out, "file to write; default: standard output");
  return {&app, [&app, flags] { return run_export(app, *flags); }};
}

}  // namespace ridgeline::cli
