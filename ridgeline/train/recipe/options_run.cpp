#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ridgeline/core/joined_names.h"
#include "ridgeline/train/metric/table.h"
#include "ridgeline/train/recipe/duration.h"
#include "ridgeline/train/recipe/options.h"

namespace ridgeline::train {
namespace {

SettingValue mode_of_run(const Recipe& recipe) {
  switch (recipe.mode) {
    case Mode::train: return std::string("train");
    case Mode::evaluate: return std::string("evaluate");
    case Mode::train_and_evaluate: break;
  }
  return std::string("train_and_evaluate");
}

}  // namespace

bool is_preset_file(std::string_view preset) {
  return preset.find('/') != std::string_view::npos || preset.ends_with(".yaml") || preset.ends_with(".yml");
}

std::vector<RecipeOption> run_options_of_recipe() {
  using A = RecipeArguments;
  const OptionGroup group{"Run"}, evaluated{"Run", kInEvaluations};
  const OptionRange positive{"1 or more", 1};
  return {
      {"mode", evaluated, "train, evaluate or train_and_evaluate", [](A& a) -> std::string& { return a.mode; },
       verdict::alike(mode_of_run)},
      {.name = "preset",
       .group = evaluated,
       .help = "flags by name (a list stands below) or from a YAML file, before all others",
       .field = [](A& a) -> std::string& { return a.preset; },
       .verdict = verdict::own(),
       .in_presets = false,
       .names_file = is_preset_file},
      {.name = "run_config",
       .group = evaluated,
       .help = "JSON file with options of the original's run configuration, before all other flags",
       .field = [](A& a) -> std::string& { return a.run_config; },
       .verdict = verdict::own(),
       .in_presets = false,
       .names_file = is_path},
      {"iterations_per_loop",
       group,
       "steps without the host; 0: an epoch's, at most 100",
       [](A& a) -> std::int64_t& { return a.recipe.iterations_per_loop; },
       verdict::alike(),
       {"0 (automatic) or more", 0}},
      {"epochs_between_evals",
       group,
       "of train_and_evaluate",
       [](A& a) -> std::int64_t& { return a.recipe.epochs_between_evals; },
       verdict::alike(),
       {"1 to 1000000000", 1, kMostEpochs}},
      {"metrics", evaluated, "of evaluations, beside top-1, top-5 and loss, by commas: " + joined_names(metric_table()),
       [](A& a) -> std::string& { return a.metrics; }, verdict::own()},
      {.name = "display_every",
       .group = group,
       .help = "log only steps that are a multiple of this",
       .field = [](A& a) -> std::int64_t& { return a.recipe.display_every; },
       .verdict = verdict::alike(),
       .range = positive,
       .aliases = {"display"}},
      {"save_summary_steps",
       group,
       "steps between log lines; 0: 100, or without iterations_per_loop an epoch where that is shorter",
       [](A& a) -> std::int64_t& { return a.recipe.save_summary_steps; },
       verdict::alike(),
       {"0 (automatic) or more", 0}},
      {"save_checkpoints_steps", group, "steps between checkpoints",
       [](A& a) -> std::int64_t& { return a.recipe.save_checkpoints_steps; }, verdict::alike(), positive},
      {"benchmark", group, "at most 5000 steps, and a summary of speed, loss and accuracy in log_dir",
       [](A& a) -> bool& { return a.recipe.benchmark; }, verdict::alike()},
      {.name = "save_checkpoints_secs",
       .group = group,
       .help = "seconds between checkpoints, looked at where loops end; instead of steps; 0: off",
       .field = [](A& a) -> double& { return a.recipe.save_checkpoints_secs; },
       .verdict = verdict::alike(),
       .range = {"0 (off) to 1000000000", 0, 1e9},
       .instead_of = {{"save_checkpoints_steps",
                       "--save_checkpoints_steps and --save_checkpoints_secs cannot both be given"}},
       .off = 0},
      {"max_time", group,
       fmt::format("end the run in time, with a checkpoint, so that its process is over after so long and the same "
                   "command goes on: {}; exit code 130",
                   kDurationForms),
       [](A& a) -> std::string& { return a.max_time; },
       verdict::alike([](const Recipe& r) { return SettingValue(r.max_time); })},
      {"do_checkpoint", group, "write checkpoints", [](A& a) -> bool& { return a.recipe.do_checkpoint; },
       verdict::alike()},
      {"max_checkpoint_to_save", group, "newest checkpoints that are kept, beside that of the best evaluation",
       [](A& a) -> std::int64_t& { return a.recipe.max_checkpoint_to_save; }, verdict::own(), positive},
      {"log_dir", evaluated,
       "log, metrics and checkpoints; a run continues from what is there. An evaluation writes its log there, and none "
       "without this flag",
       [](A& a) -> std::string& { return a.recipe.log_dir; }, verdict::own()},
      {"log_name", evaluated, "file in log_dir, a name without '/'; by default <model>_training.log",
       [](A& a) -> std::string& { return a.recipe.log_name; }, verdict::own()},
      {.name = "checkpoint_dir",
       .group = evaluated,
       .help = "checkpoints to evaluate",
       .field = [](A& a) -> std::string& { return a.recipe.checkpoint_dir; },
       .verdict = verdict::own(),
       .names_file = is_path},
      {"checkpoint", evaluated,
       "the one of checkpoint_dir (or of the folder of --weights) that is meant: best (of the run's evaluations), "
       "last, "
       "or a step; by default evaluate takes all of them, others the last",
       [](A& a) -> std::string& { return a.recipe.checkpoint; }, verdict::own()},
      {"rank_size", evaluated, "processes that train together, which launch starts; 0: as many as there are",
       [](A& a) -> std::int64_t& { return a.rank_size; }, verdict::part_of("batch of statistics")},
      {"group_size", evaluated, "the same, by its name in the README",
       [](A& a) -> std::int64_t& { return a.group_size; }, verdict::part_of("batch of statistics")},
      {"hcom_parallel", group,
       "exchange gradients between ranks beside the backward pass instead of behind it; the bits are the same",
       [](A& a) -> bool& { return a.recipe.hcom_parallel; }, verdict::alike()},
      {"sync_batch_norm", group, "batch norms take their statistics over the batches of all ranks, not of each",
       [](A& a) -> bool& { return a.recipe.sync_batch_norm; }, verdict::defines({.kept_later = true})},
      {"batch_parts",
       evaluated,
       "of deterministic runs: parts of a step's batch over all ranks that are computed apart and added in pairs, so "
       "that so many ranks and fewer give the same bits; 1: none; 0: 2, 4 or 8, by the batch",
       [](A& a) -> std::int64_t& { return a.recipe.batch_parts; },
       verdict::changes(
           {.kept = [](const Recipe& r) { return SettingValue(r.ordered ? r.parts * r.ranks : std::int64_t{1}); },
            .shared = [](const Recipe& r) { return SettingValue(r.batch_parts); },
            .kept_later = true}),
       {"0 (automatic) to 64", 0, 64}},
      {"is_weight_update_sharding", group,
       "split the optimizer's slots and updates over the ranks, each of which keeps its part; the bits are the same",
       [](A& a) -> bool& { return a.recipe.is_weight_update_sharding; }, verdict::alike()},
      {"split_strategy_by_idx", group,
       "by commas, the last gradient in backward order of each bucket that is exchanged at once: 20,100,159",
       [](A& a) -> std::string& { return a.split_by_index; }, verdict::alike([](const Recipe& r) {
         return SettingValue(fmt::format("{}", fmt::join(r.gradient_split.by_index, ",")));
       })},
      {"split_strategy_by_size", group, "per cent of the bytes of each bucket instead, 100 together",
       [](A& a) -> std::string& { return a.split_by_size; }, verdict::alike([](const Recipe& r) {
         return SettingValue(fmt::format("{}", fmt::join(r.gradient_split.by_size, ",")));
       })},
      {"debug", group, "no effect, as in the original", [](A& a) -> bool& { return a.debug; }, verdict::own()},
      {"eval", group, "no effect, as in the original", [](A& a) -> bool& { return a.eval; }, verdict::own()},
  };
}

}  // namespace ridgeline::train
