#include "ridgeline/train/recipe/options.h"

namespace ridgeline::train {

std::vector<RecipeOption> parallel_options() {
  using A = RecipeArguments;
  const OptionGroup group{"Dividing a model over ranks"};
  return {
      {"parallel_mode", group,
       "what several ranks divide: stand_alone (nothing: each trains by itself), data_parallel (the batches), "
       "hybrid_parallel (dense layers, too), semi_auto_parallel (the layers of shard_layer), auto_parallel (the dense "
       "layers with which a step takes least)",
       [](A& a) -> std::string& { return a.recipe.parallel.mode; }, verdict::alike()},
      {"shard_layer", group, "LAYER=columns, rows or data: how ranks divide a dense layer; may be given several times",
       [](A& a) -> std::vector<std::string>& { return a.recipe.parallel.shard_layer; }, verdict::alike()},
      {"parallel_rates", group,
       "what auto_parallel goes by: measured (these ranks, before the run), or the links of a cluster of `ridgeline "
       "plan`",
       [](A& a) -> std::string& { return a.recipe.parallel.rates; }, verdict::alike()},
      {"pipeline_stages",
       group,
       "cut the model into so many stages, a rank each; 1: none",
       [](A& a) -> std::int64_t& { return a.recipe.parallel.pipeline_stages; },
       verdict::part_of("batch of statistics",
                        [](const Recipe& r) { return SettingValue(r.parallel.pipeline_stages); }),
       {"1 or more", 1}},
      {"micro_batches",
       group,
       "of a pipeline: the parts of batch_size that follow one another; 0: as many as stages",
       [](A& a) -> std::int64_t& { return a.recipe.parallel.micro_batches; },
       verdict::part_of("batch of statistics", [](const Recipe& r) { return SettingValue(r.parallel.micro_batches); }),
       {"0 (as many as stages) or more", 0}},
      {"pipeline_order", group, "of a pipeline: gpipe (all forward, then all backward) or 1f1b (in turn)",
       [](A& a) -> std::string& { return a.recipe.parallel.pipeline_order; }, verdict::alike()},
      {"stage_layer", group,
       "LAYER=STAGE: from this layer on, in this stage, from 0; may be given several times; none: by cost",
       [](A& a) -> std::vector<std::string>& { return a.recipe.parallel.stage_layer; }, verdict::alike()},
      {"server_parameters", group,
       "with parameter servers: the parameters that they keep and update, by a pattern of names (* any characters, ? "
       "one), may be given several times; none: all. Workers exchange the gradients of the others",
       [](A& a) -> std::vector<std::string>& { return a.recipe.parallel.server_parameters; }, verdict::alike()},
  };
}

}  // namespace ridgeline::train
