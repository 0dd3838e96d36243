#include "ridgeline/core/joined_names.h"
#include "ridgeline/train/recipe/options.h"

namespace ridgeline::train {
namespace {

SettingValue dropout_keep_of(const Recipe& recipe) {
  return nn::complete_options(nn::model_named(recipe.model), recipe.model_options).dropout_keep.value_or(1);
}

}  // namespace

std::vector<RecipeOption> model_options() {
  using A = RecipeArguments;
  const OptionGroup group{"Model"}, evaluated{"Model", kInEvaluations};
  return {
      {"model", evaluated,
       "architecture: " + joined_names(nn::all_models()) + "; default of evaluate: the checkpoint's",
       [](A& a) -> std::string& { return a.recipe.model; }, verdict::identity()},
      {.name = "alexnet_version",
       .group = group,
       .help = "alexnet: initial weights: he_uniform (default), xavier or he_uniform_custom",
       .field = [](A& a) -> std::string& { return a.alexnet_version; },
       .verdict = verdict::identity(),
       .aliases = {"version"}},
      {"final_relu", evaluated, "alexnet: relu on the logits, as in the ModelZoo recipe: True (default) or False",
       [](A& a) -> std::optional<bool>& { return a.recipe.model_options.final_relu; }, verdict::identity()},
      {"dropout_keep", group, "probability that dropout keeps a unit, in (0, 1]; 0: the model's default",
       [](A& a) -> double& { return a.dropout_keep; }, verdict::changes({.kept = dropout_keep_of})},
      {.name = "weights",
       .group = evaluated,
       .help = "initial weights: a safetensors file (torchvision's names), a checkpoint or its folder, or *.rdgm",
       .field = [](A& a) -> std::string& { return a.recipe.restore_path; },
       .verdict = verdict::own(),
       .aliases = {"restore_path", "pretrained"},
       .names_file = is_path,
       .may_be_empty = true},
      {"reset_head", group, "initialise the last layer instead of loading it, to train other classes",
       [](A& a) -> bool& { return a.recipe.reset_head; }, verdict::own()},
      {.name = "restore_exclude",
       .group = group,
       .help = "layers that training does not load from --weights, comma-separated; empty: none",
       .field = [](A& a) -> std::string& { return a.restore_exclude; },
       .verdict = verdict::own(),
       .may_be_empty = true},
      {"dtype", evaluated, "type of the weights; only tf.float32 is supported",
       [](A& a) -> std::string& { return a.dtype; }, verdict::own()},
  };
}

}  // namespace ridgeline::train
