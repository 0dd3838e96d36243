#include "ridgeline/train/recipe/shared_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ridgeline::train {
namespace {

std::string flag_text(bool flag) { return flag ? "True" : "False"; }

}  // namespace

std::vector<std::pair<std::string, std::string>> shared_settings(const Recipe& recipe, const CheckpointInfo& info,
                                                                 std::int64_t steps) {
  const ParallelSettings& parallel = recipe.parallel;
  std::vector<std::pair<std::string, std::string>> all{
      {"--model", info.model},
      {"--num_classes", fmt::format("{}", info.num_classes)},
      {"--image_size", fmt::format("{}", info.image_size)},
      {"--batch_size", fmt::format("{}", recipe.batch_size)},
      {"--seed", fmt::format("{}", info.seed)},
      {"initialization", info.init},
      {"final_relu", flag_text(info.final_relu)},
      {"--mode", recipe.mode == Mode::train ? "train" : "train_and_evaluate"},
      {"--iterations_per_loop", fmt::format("{}", recipe.iterations_per_loop)},
      {"--epochs_between_evals", fmt::format("{}", recipe.epochs_between_evals)},
      {"--early_stopping", fmt::format("{}", recipe.early_stopping)},
      {"--do_checkpoint", flag_text(recipe.do_checkpoint)},
      {"--save_checkpoints_steps", fmt::format("{}", recipe.save_checkpoints_steps)},
      {"--parallel_mode", parallel.mode},
      {"--pipeline_stages", fmt::format("{}", parallel.pipeline_stages)},
      {"--micro_batches", fmt::format("{}", parallel.micro_batches)},
      {"--pipeline_order", parallel.pipeline_order},
      {"--shard_layer", fmt::format("{}", fmt::join(parallel.shard_layer, ","))},
      {"--stage_layer", fmt::format("{}", fmt::join(parallel.stage_layer, ","))},
      {"--server_parameters", fmt::format("{}", fmt::join(parallel.server_parameters, ","))},
      {"--hcom_parallel", flag_text(recipe.hcom_parallel)},
      {"--is_weight_update_sharding", flag_text(recipe.is_weight_update_sharding)},
      {"--sync_batch_norm", flag_text(recipe.sync_batch_norm)},
      {"--batch_parts", fmt::format("{}", recipe.batch_parts)},
      {"--split_strategy_by_idx", fmt::format("{}", fmt::join(recipe.gradient_split.by_index, ","))},
      {"--split_strategy_by_size", fmt::format("{}", fmt::join(recipe.gradient_split.by_size, ","))}};
  for (const SettingRow& row : setting_rows()) {
    if (row.data || row.name == "batch_size") continue;  // of all ranks; above is a rank's own
    all.emplace_back(fmt::format("{}{}", row.flag ? "--" : "", row.name), value_text(*info.settings, row));
  }
  all.emplace_back("training steps", fmt::format("{}", steps));
  return all;
}

}  // namespace ridgeline::train
