#include "ridgeline/train/recipe/options.h"

namespace ridgeline::train {

std::vector<RecipeOption> parallel_options() {
  using A = RecipeArguments;
  const OptionGroup group{"Dividing a model over ranks"};
  return {
      {"parallel_mode", group,
       "what is divided over ranks: stand_alone (nothing: each rank trains by itself), data_parallel (the batch), "
       "hybrid_parallel (also dense layers), semi_auto_parallel (also the layers of shard_layer), auto_parallel (also "
       "the dense layers for which a step is estimated to be fastest)",
       [](A& a) -> std::string& { return a.recipe.parallel.mode; }, verdict::alike()},
      {"shard_layer", group,
       "LAYER=columns, rows or data: how ranks divide this dense layer; may be given several times",
       [](A& a) -> std::vector<std::string>& { return a.recipe.parallel.shard_layer; }, verdict::alike()},
      {"parallel_rates", group,
       "auto_parallel: link speeds that its estimates use: measured (on these ranks, before the run), or the name of a "
       "cluster of `ridgeline plan`",
       [](A& a) -> std::string& { return a.recipe.parallel.rates; }, verdict::alike()},
      {"pipeline_stages",
       group,
       "number of pipeline stages, one rank each; 1: no pipeline",
       [](A& a) -> std::int64_t& { return a.recipe.parallel.pipeline_stages; },
       verdict::part_of("batch of statistics",
                        [](const Recipe& r) { return SettingValue(r.parallel.pipeline_stages); }),
       {"1 or more", 1}},
      {"micro_batches",
       group,
       "pipeline: number of micro-batches that batch_size is divided into; 0: as many as stages",
       [](A& a) -> std::int64_t& { return a.recipe.parallel.micro_batches; },
       verdict::part_of("batch of statistics", [](const Recipe& r) { return SettingValue(r.parallel.micro_batches); }),
       {"0 (as many as stages) or more", 0}},
      {"pipeline_order", group,
       "pipeline: order of micro-batches: gpipe (all forward, then all backward) or 1f1b (one forward, one backward)",
       [](A& a) -> std::string& { return a.recipe.parallel.pipeline_order; }, verdict::alike()},
      {"stage_layer", group,
       "pipeline: LAYER=STAGE: the stage, counted from 0, begins at this layer; may be given several times; default: "
       "stages of similar cost",
       [](A& a) -> std::vector<std::string>& { return a.recipe.parallel.stage_layer; }, verdict::alike()},
      {"server_parameters", group,
       "parameter servers: parameters that they keep and update, as a name pattern (* any characters, ? one); may be "
       "given several times; default: all. Workers exchange the gradients of the others",
       [](A& a) -> std::vector<std::string>& { return a.recipe.parallel.server_parameters; }, verdict::alike()},
  };
}

}  // namespace ridgeline::train
