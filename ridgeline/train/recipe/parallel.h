// ridgeline/train/recipe/parallel.h
//
// How the ranks of a run divide its model, from the command line. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/graph/pass/annotate.h"
#include "ridgeline/graph/pass/distribution.h"

namespace ridgeline::train {

struct Recipe;

struct ParallelSettings {
  std::string mode = "data_parallel";          // by name (graph/pass/distribution.h)
  std::vector<std::string> shard_layer;        // LAYER=data, columns or rows
  std::string rates = "measured";              // of auto_parallel: measured on these ranks, or a cluster's by name
  std::int64_t pipeline_stages = 1;            // 1: no pipeline; else as many as ranks
  std::int64_t micro_batches = 0;              // of a step, in a pipeline; 0: as many as stages
  std::string pipeline_order = "1f1b";         // or gpipe
  std::vector<std::string> stage_layer;        // LAYER=STAGE; none: stages are cut by cost
  std::vector<std::string> server_parameters;  // patterns of names; none: servers keep all

  bool pipelined() const { return pipeline_stages > 1; }
  // Whether ranks hold shards of the model, or may.
  bool divides() const { return pipelined() || (mode != "data_parallel" && mode != "stand_alone"); }
  std::int64_t micro_batches_of_step() const {
    return !pipelined() ? 1 : micro_batches == 0 ? pipeline_stages : micro_batches;
  }
};

// An Error (usage) names the flag, its value and what is allowed.
void check(const ParallelSettings& settings, std::int64_t batch_size);

// A flag of the recipe that requires a whole model on each rank; nullptr: none.
const char* needs_whole_model(const Recipe& recipe);

std::vector<Annotation> shards_of(const ParallelSettings& settings);
std::vector<Annotation> stages_of(const ParallelSettings& settings);

}  // namespace ridgeline::train
