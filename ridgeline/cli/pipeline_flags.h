// ridgeline/cli/pipeline_flags.h
//
// The data graph of a tool: the standard training or evaluation pipeline over a data directory, given by flags, or a
// graph from a file.
#pragma once

#include <string>

#include "ridgeline/cli/flags.h"
#include "ridgeline/data/minddata/json.h"
#include "ridgeline/data/standard/standard_pipeline.h"

namespace ridgeline::cli {

struct PipelineFlags {
  std::string data_dir, split, graph, model;
  std::string label_base = "auto";
  std::string pixels = "exact";
  std::int64_t num_classes = 0;
  data::StandardPipeline pipeline;
  std::string label_field = "auto";
  bool allow_missing_shards = false;
  bool eval = false;
  bool no_normalize = false;
};

struct PipelineFlagSet {
  bool graph = true;       // --graph and --pixels
  bool batch_size = true;  // --batch_size; without it batches are of one sample
};
void add_pipeline_flags(Command& app, PipelineFlags& flags, PipelineFlagSet set = {});
// The graph that the flags describe; files are opened only if a flag needs their content. With a graph from a file,
// flags that would have no effect are refused; --data_dir gives it other data, --seed another seed.
data::DataGraph graph_of(const Command& app, const PipelineFlags& flags);
// The dataset of that graph.
data::Dataset dataset_of(const Command& app, const PipelineFlags& flags);
// How MindData's trees are read and written, by --pixels.
data::MindDataOptions minddata_options(const PipelineFlags& flags);

}  // namespace ridgeline::cli
