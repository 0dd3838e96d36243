#include "ridgeline/train/run_settings.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "ridgeline/core/error.h"

namespace ridgeline::train {
namespace {

// What the state of the data stands for (batches of which images, in which order) defines the run, and so does what
// the weights are (checkpoint.h). The optimizer's knobs may be turned on the way: a longer run, a lower rate.
constexpr std::array<SettingRow, 37> kRows{{
    {.name = "data", .field = &RunSettings::data, .flag = false, .data = true, .defines_run = true},
    {.name = "records", .field = &RunSettings::records, .flag = false, .data = true, .defines_run = true},
    {.name = "batch_size", .field = &RunSettings::batch_size, .defines_run = true},
    {.name = "min_area", .field = &RunSettings::min_area, .defines_run = true},
    {.name = "crop_padding", .field = &RunSettings::crop_padding, .defines_run = true, .newer = true},
    {.name = "augment", .field = &RunSettings::augment, .defines_run = true, .newer = true},
    {.name = "random_erasing", .field = &RunSettings::random_erasing, .defines_run = true, .newer = true},
    {.name = "mixup", .field = &RunSettings::mixup, .defines_run = true, .newer = true},
    {.name = "cutmix", .field = &RunSettings::cutmix, .defines_run = true, .newer = true},
    {.name = "flip", .field = &RunSettings::flip, .defines_run = true},
    {.name = "exif_orientation", .field = &RunSettings::exif_orientation, .defines_run = true, .newer = true},
    {.name = "class_weights", .field = &RunSettings::class_weights, .defines_run = true, .newer = true},
    {.name = "sampler", .field = &RunSettings::sampler, .defines_run = true, .newer = true},
    {.name = "validation_split", .field = &RunSettings::validation_split, .defines_run = true, .newer = true},
    {.name = "max_epochs", .field = &RunSettings::max_epochs},
    {.name = "warmup_epochs", .field = &RunSettings::warmup_epochs},
    {.name = "lr", .field = &RunSettings::lr},
    {.name = "momentum", .field = &RunSettings::momentum},
    {.name = "use_nesterov", .field = &RunSettings::use_nesterov},
    {.name = "weight_decay", .field = &RunSettings::weight_decay},
    {.name = "label_smoothing", .field = &RunSettings::label_smoothing},
    {.name = "dropout_keep", .field = &RunSettings::dropout_keep},
    // Another optimizer has other slots, and so have other parameters that are frozen.
    {.name = "optimizer", .field = &RunSettings::optimizer, .defines_run = true, .newer = true},
    // Each keeps values of its own from step to step.
    {.name = "accumulate_steps", .field = &RunSettings::accumulate_steps, .defines_run = true, .newer = true},
    {.name = "loss_scale", .field = &RunSettings::loss_scale, .defines_run = true, .newer = true},
    {.name = "ema", .field = &RunSettings::ema, .defines_run = true, .newer = true},
    {.name = "clip_norm", .field = &RunSettings::clip_norm, .newer = true},
    {.name = "clip_value", .field = &RunSettings::clip_value, .newer = true},
    {.name = "precision_mode", .field = &RunSettings::precision_mode, .newer = true},
    {.name = "accelerate_train_mode", .field = &RunSettings::accelerate_train_mode, .newer = true},
    {.name = "reproducibility", .field = &RunSettings::reproducibility, .newer = true},
    {.name = "op_select_implmode", .field = &RunSettings::op_select_implmode, .newer = true},
    {.name = "fp32_compute", .field = &RunSettings::fp32_compute, .newer = true},
    {.name = "lr_schedule", .field = &RunSettings::lr_schedule, .newer = true},
    {.name = "optimizer settings", .field = &RunSettings::optimizer_settings, .flag = false, .newer = true},
    {.name = "schedule settings", .field = &RunSettings::schedule_settings, .flag = false, .newer = true},
    {.name = "parameter groups",
     .field = &RunSettings::parameter_groups,
     .flag = false,
     .defines_run = true,
     .newer = true},
}};

}  // namespace

std::span<const SettingRow> setting_rows() { return kRows; }

std::string value_text(const RunSettings& settings, const SettingRow& row) {
  return std::visit(
      [&](auto field) -> std::string {
        const auto& value = settings.*field;
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, bool>)
          return value ? "True" : "False";
        else
          return fmt::format("{}", value);
      },
      row.field);
}

std::string to_json(const RunSettings& settings) {
  nlohmann::json object = nlohmann::json::object();
  for (const SettingRow& row : kRows) {
    std::visit([&](auto field) { object[std::string(row.name)] = settings.*field; }, row.field);
  }
  return object.dump();
}

RunSettings settings_from_json(const std::string& text) {
  try {
    const nlohmann::json object = nlohmann::json::parse(text);
    RunSettings settings;
    for (const SettingRow& row : kRows) {
      if (row.newer && !object.contains(row.name)) continue;
      std::visit([&](auto field) { object.at(std::string(row.name)).get_to(settings.*field); }, row.field);
    }
    return settings;
  } catch (const nlohmann::json::exception& error) {
    throw Error(std::string("[run settings] ") + error.what());
  }
}

}  // namespace ridgeline::train
