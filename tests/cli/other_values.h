// tests/cli/other_values.h
//
// For each option of `train` that a resume or other ranks compare: another value, and the flags that the run needs for
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/device/cpu/isa.h"

namespace ridgeline::testing {

struct OtherValue {
  std::string_view option;
  std::string value;
  std::string base = "";  // flags of both runs
  // What a resume in one process, or two ranks with one batch each, cannot test, and where that is tested.
  std::string_view not_alone = "", not_by_two = "";
};

// `folder` has shapes/ (class folders), records/ (the same as TFRecords), archives/ (the same as tar archives with the
// fields cls and json), mixlist.json, keep.txt and types.txt.
inline std::vector<OtherValue> other_values(const std::string& folder) {
  const std::string bf16 = "--precision_mode=allow_mix_precision_bf16",
                    by_loss = "--accelerate_train_mode='fast1|loss' ";
  const std::string_view no_tiles =
      device::active_isa() == device::Isa::amx ? "" : "f32 is the only one without tile registers";
  const std::string alexnet = "--model=alexnet --image_size=64 --batch_size=1";
  return {
      {"synthetic", "True", "--num_classes=10"},
      {"num_classes", "4", "--synthetic --num_classes=3"},
      {"image_size", "20"},
      {"label_base", "0", "--data_dir=" + folder + "/records --num_classes=12 --label_base=1"},
      {"label_field", "json:label", "--data_dir=" + folder + "/archives --num_classes=10"},
      {"min_area", "0.5"},
      {"crop_padding", "2"},
      {"augment", "trivial_augment_wide"},
      {"random_erasing", "0.5"},
      {"mixup", "0.2"},
      {"cutmix", "1"},
      {"flip", "False"},
      {"exif_orientation", "apply"},
      {"class_weights", "balanced"},
      {"sampler", "balanced"},
      {"enable_data_pre_proc", "False"},
      {"validation_split", "0.25", "--data_dir=" + folder + "/unsplit --validation_split=0.5"},
      {"allow_missing_shards", "True"},
      {"eval_drop_remainder", "True"},
      {"bad_samples", "skip"},
      {"model", "resnet20", "--image_size=32"},
      {"alexnet_version", "xavier", alexnet},
      {"final_relu", "False", alexnet},
      {"dropout_keep", "0.5", "--model=mobilenet_v2 --image_size=32"},
      {"batch_size", "8"},
      {"max_epochs", "3"},
      {"max_train_steps", "5"},
      {"warmup_epochs", "1"},
      {"lr", "0.002"},
      {"lr_schedule", "constant"},
      {"lr_factor", "0.5", "--lr_schedule=exponential"},
      {"lr_decay_epochs", "2", "--lr_schedule=multi_step --lr_decay_epochs=1"},
      {"lr_end", "0.0001", "--lr_schedule=cosine"},
      {"lr_power", "2", "--lr_schedule=polynomial"},
      {"optimizer", "adam"},
      {"momentum", "0.8"},
      {"use_nesterov", "False"},
      {"beta1", "0.8", "--optimizer=adam"},
      {"beta2", "0.99", "--optimizer=adam"},
      {"epsilon", "0.001", "--optimizer=adam"},
      {"rms_rho", "0.8", "--optimizer=rmsprop"},
      {"lars_trust", "0.01", "--optimizer=lars"},
      {"weight_decay", "0.01"},
      {"decay_vectors", "False"},
      {"freeze", "'*bias'"},
      {"lr_scale", "'*bias=2'"},
      {"clip_norm", "1"},
      {"clip_value", "1"},
      {"accumulate_steps", "2"},
      {"loss_scale", "dynamic"},
      {"ema", "0.9"},
      {"early_stopping", "2", "--mode=train_and_evaluate"},
      {"label_smoothing", "0"},
      {"seed", "6"},
      {"mode", "train_and_evaluate"},
      {"iterations_per_loop", "2"},
      {"epochs_between_evals", "2", "--mode=train_and_evaluate"},
      {"display_every", "2"},
      {"max_time", "3h"},
      {"save_summary_steps", "2"},
      {"save_checkpoints_steps", "2"},
      {"save_checkpoints_secs", "3600"},
      {"benchmark", "True"},
      {"do_checkpoint", "False"},
      {"rank_size", "2", "", "one process", "they are two"},
      {"group_size", "2", "", "one process", "they are two"},
      {"hcom_parallel", "True"},
      {"sync_batch_norm", "True"},
      {"batch_parts", "1", "--reproducibility=deterministic"},
      {"is_weight_update_sharding", "True"},
      {"split_strategy_by_idx", "1"},
      {"split_strategy_by_size", "50,50"},
      {"precision_mode", "allow_mix_precision_bf16"},
      {"precision_mode_v2", "mixed_bfloat16"},
      {"modify_mixlist", folder + "/mixlist.json", bf16},
      {"keep_dtype", folder + "/keep.txt", bf16},
      {"customize_dtypes", folder + "/types.txt", bf16},
      {"fp16_compute", "bf16", "--precision_mode=allow_mix_precision_fp16"},
      {"amp_level", "O1"},
      {"accelerate_train_mode", "'fast1|step|0.5'"},
      {"final_loss", "3", by_loss + "--final_loss=2"},
      {"device", "simulated"},
      {"reproducibility", "deterministic"},
      {"op_select_implmode", "high_precision"},
      {"fp32_compute", "bf16x3", "", no_tiles, no_tiles},
      {"fusion", "False"},
      {"memory_limit", "1000000000"},
      {"disable_pass", "recompute"},
      {"parallel_mode", "hybrid_parallel"},
      {"shard_layer", "fc=columns", "--parallel_mode=hybrid_parallel"},
      {"parallel_rates", "cpu_ethernet_64", "--parallel_mode=auto_parallel"},
      {"pipeline_stages", "2", "", "a rank a stage"},
      {"micro_batches", "4", "--pipeline_stages=2", "a rank a stage"},
      {"pipeline_order", "gpipe", "--pipeline_stages=2"},
      {"stage_layer", "fc=1", "--pipeline_stages=2"},
      {"server_parameters", "'*'", "", "", "needs parameter servers"},
  };
}

}  // namespace ridgeline::testing
