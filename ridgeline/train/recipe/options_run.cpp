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
      {"mode", evaluated, "what the run does: train, evaluate or train_and_evaluate",
       [](A& a) -> std::string& { return a.mode; }, verdict::alike(mode_of_run)},
      {.name = "preset",
       .group = evaluated,
       .help = "take flags from a built-in preset (listed at the end) or a YAML file; flags of the command line "
               "override them",
       .field = [](A& a) -> std::string& { return a.preset; },
       .verdict = verdict::own(),
       .in_presets = false,
       .names_file = is_preset_file},
      {.name = "run_config",
       .group = evaluated,
       .help =
           "take flags from a JSON file with options of Ascend's NPURunConfig; flags of the command line override them",
       .field = [](A& a) -> std::string& { return a.run_config; },
       .verdict = verdict::own(),
       .in_presets = false,
       .names_file = is_path},
      {"iterations_per_loop",
       group,
       "steps that run in a row without the host; a log line follows each such loop; 0: one epoch, at most 100, and "
       "log lines by save_summary_steps",
       [](A& a) -> std::int64_t& { return a.recipe.iterations_per_loop; },
       verdict::alike(),
       {"0 (automatic) or more", 0}},
      {"epochs_between_evals",
       group,
       "train_and_evaluate: epochs between evaluations",
       [](A& a) -> std::int64_t& { return a.recipe.epochs_between_evals; },
       verdict::alike(),
       {"1 to 1000000000", 1, kMostEpochs}},
      {"metrics", evaluated,
       "metrics of evaluations in addition to top-1, top-5 and loss, comma-separated: " + joined_names(metric_table()),
       [](A& a) -> std::string& { return a.metrics; }, verdict::own()},
      {.name = "display_every",
       .group = group,
       .help = "log only steps that are a multiple of this number",
       .field = [](A& a) -> std::int64_t& { return a.recipe.display_every; },
       .verdict = verdict::alike(),
       .range = positive,
       .aliases = {"display"}},
      {"save_summary_steps",
       group,
       "steps between log lines; 0: 100, or one epoch if that is shorter and iterations_per_loop is 0",
       [](A& a) -> std::int64_t& { return a.recipe.save_summary_steps; },
       verdict::alike(),
       {"0 (automatic) or more", 0}},
      {"save_checkpoints_steps", group, "steps between checkpoints",
       [](A& a) -> std::int64_t& { return a.recipe.save_checkpoints_steps; }, verdict::alike(), positive},
      {"benchmark", group, "run at most 5000 steps and write a summary of speed, loss and accuracy into log_dir",
       [](A& a) -> bool& { return a.recipe.benchmark; }, verdict::alike()},
      {.name = "save_checkpoints_secs",
       .group = group,
       .help = "seconds between checkpoints, checked after every iterations_per_loop steps; replaces "
               "save_checkpoints_steps; 0: off",
       .field = [](A& a) -> double& { return a.recipe.save_checkpoints_secs; },
       .verdict = verdict::alike(),
       .range = {"0 (off) to 1000000000", 0, 1e9},
       .instead_of = {{"save_checkpoints_steps",
                       "--save_checkpoints_steps and --save_checkpoints_secs cannot both be given"}},
       .off = 0},
      {"max_time", group,
       fmt::format("time limit of the process: save a checkpoint and end before it with exit code 130; the same "
                   "command resumes. Allowed: {}",
                   kDurationForms),
       [](A& a) -> std::string& { return a.max_time; },
       verdict::alike([](const Recipe& r) { return SettingValue(r.max_time); })},
      {"do_checkpoint", group, "write checkpoints", [](A& a) -> bool& { return a.recipe.do_checkpoint; },
       verdict::alike()},
      {"max_checkpoint_to_save", group,
       "number of newest checkpoints to keep, in addition to the one of the best evaluation",
       [](A& a) -> std::int64_t& { return a.recipe.max_checkpoint_to_save; }, verdict::own(), positive},
      {"log_dir", evaluated,
       "folder for log, metrics and checkpoints; a run resumes from the newest checkpoint there. evaluate writes a log "
       "only if this is given",
       [](A& a) -> std::string& { return a.recipe.log_dir; }, verdict::own()},
      {"log_name", evaluated, "name of the log file in log_dir, without '/'; default: <model>_training.log",
       [](A& a) -> std::string& { return a.recipe.log_name; }, verdict::own()},
      {.name = "checkpoint_dir",
       .group = evaluated,
       .help = "folder of the checkpoints to evaluate",
       .field = [](A& a) -> std::string& { return a.recipe.checkpoint_dir; },
       .verdict = verdict::own(),
       .names_file = is_path},
      {"checkpoint", evaluated,
       "checkpoint to use from checkpoint_dir or the folder of --weights: best (by evaluation), last or a step; "
       "default: all for evaluate, else the last",
       [](A& a) -> std::string& { return a.recipe.checkpoint; }, verdict::own()},
      {"rank_size", evaluated,
       "number of processes that train together, as started by `ridgeline launch`; 0: as many as there are",
       [](A& a) -> std::int64_t& { return a.rank_size; }, verdict::part_of("batch of statistics")},
      {"group_size", evaluated, "the same as --rank_size, as the ModelZoo README calls it",
       [](A& a) -> std::int64_t& { return a.group_size; }, verdict::part_of("batch of statistics")},
      {"hcom_parallel", group,
       "exchange gradients between ranks during the backward pass instead of after it; same bits",
       [](A& a) -> bool& { return a.recipe.hcom_parallel; }, verdict::alike()},
      {"sync_batch_norm", group,
       "compute batch norm statistics over the batches of all ranks instead of each rank's own",
       [](A& a) -> bool& { return a.recipe.sync_batch_norm; }, verdict::defines({.kept_later = true})},
      {"batch_parts",
       evaluated,
       "deterministic runs: divide the batch of all ranks into this many parts and add their gradients in pairs, so "
       "that any number of ranks up to this gives the same bits; 1: off; 0: 2, 4 or 8, by batch size",
       [](A& a) -> std::int64_t& { return a.recipe.batch_parts; },
       verdict::changes(
           {.kept = [](const Recipe& r) { return SettingValue(r.ordered ? r.parts * r.ranks : std::int64_t{1}); },
            .shared = [](const Recipe& r) { return SettingValue(r.batch_parts); },
            .kept_later = true}),
       {"0 (automatic) to 64", 0, 64}},
      {"is_weight_update_sharding", group, "shard optimizer state and updates over the ranks; same bits",
       [](A& a) -> bool& { return a.recipe.is_weight_update_sharding; }, verdict::alike()},
      {"split_strategy_by_idx", group,
       "buckets of gradients exchanged together: index of the last gradient of each, in backward order, "
       "comma-separated: 20,100,159",
       [](A& a) -> std::string& { return a.split_by_index; }, verdict::alike([](const Recipe& r) {
         return SettingValue(fmt::format("{}", fmt::join(r.gradient_split.by_index, ",")));
       })},
      {"split_strategy_by_size", group,
       "the same by size: per cent of the gradient bytes in each bucket, comma-separated, 100 in total",
       [](A& a) -> std::string& { return a.split_by_size; }, verdict::alike([](const Recipe& r) {
         return SettingValue(fmt::format("{}", fmt::join(r.gradient_split.by_size, ",")));
       })},
      {"debug", group, "no effect; accepted because ModelZoo scripts give it", [](A& a) -> bool& { return a.debug; },
       verdict::own()},
      {"eval", group, "no effect; accepted because ModelZoo scripts give it", [](A& a) -> bool& { return a.eval; },
       verdict::own()},
  };
}

}  // namespace ridgeline::train
