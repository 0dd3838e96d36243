// ridgeline/train/run_settings.h
//
// What a run was told beside its model: kept in its checkpoints, so that a run that goes on can say what is different
// now. A table says for each setting whether another value makes another run. No path, host, worker or loop value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace ridgeline::train {

struct RunSettings {
  std::string data;          // "class folders", "TFRecords", "packed file" or "synthetic"
  std::int64_t records = 0;  // of the training part
  std::int64_t batch_size = 0;
  double min_area = 0;
  std::int64_t crop_padding = -1;
  std::string augment;
  double random_erasing = 0;
  double mixup = 0;
  double cutmix = 0;
  bool flip = true;
  std::string exif_orientation = "ignore";
  std::string class_weights = "none";
  std::string sampler = "shuffle";
  double validation_split = 0;
  std::int64_t max_epochs = 0;
  std::int64_t warmup_epochs = 0;
  double lr = 0;
  double momentum = 0;
  bool use_nesterov = true;
  double weight_decay = 0;
  double label_smoothing = 0;
  double dropout_keep = 1;
  std::string optimizer = "momentum";
  std::string lr_schedule = "warmup_cosine";
  std::string optimizer_settings;  // those that are not the default, see optimization.h
  std::string schedule_settings;
  std::string parameter_groups;
  double clip_norm = 0;
  double clip_value = 0;
  std::int64_t accumulate_steps = 1;
  std::string loss_scale;
  double ema = 0;
  std::string precision_mode = "must_keep_origin_dtype";
  std::string accelerate_train_mode;
  std::string reproducibility = "fast";
  std::string op_select_implmode = "high_performance";
  std::string fp32_compute = "f32";
};

struct SettingRow {
  std::string_view name;  // in the file; of a flag its name without hyphens
  std::variant<std::string RunSettings::*, std::int64_t RunSettings::*, double RunSettings::*, bool RunSettings::*>
      field;
  bool flag = true;          // the user gives it by a flag of that name
  bool data = false;         // it tells the data apart
  bool defines_run = false;  // else it may change in the middle of a run
  bool newer = false;        // files that are older than the setting have its default
};
std::span<const SettingRow> setting_rows();
// As a flag's value is written: "True", "0.06", "128".
std::string value_text(const RunSettings& settings, const SettingRow& row);

// A JSON object with one key a row.
std::string to_json(const RunSettings& settings);
// An Error for a missing key (of a setting that is not `newer`) or a value of another type.
RunSettings settings_from_json(const std::string& text);

}  // namespace ridgeline::train
