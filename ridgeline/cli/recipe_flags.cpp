#include "ridgeline/cli/recipe_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "ridgeline/cli/presets.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/device/devices.h"
#include "ridgeline/train/run_config.h"

namespace ridgeline::cli {
namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  std::string item;
  for (char c : list + ",") {
    if (c == ',') {
      if (!item.empty()) items.push_back(item);
      item.clear();
    } else if (std::string_view(" []'\"").find(c) == std::string_view::npos) {  // also a Python list
      item += c;
    }
  }
  return items;
}

void add_data_flags(Command& app, RecipeFlags& f) {
  train::Recipe& r = f.recipe;
  const char* group = "Data";
  app.option("--data_dir", r.data_dir,
             "records (train-*, validation-*), class folders (train/<class>/*, val/<class>/* or test/<class>/*) or "
             "packed files "
             "(train.ridge, val.ridge)")
      .group(group);
  app.boolean("--synthetic", r.synthetic, "train on random pixels; no --data_dir needed").group(group);
  app.option("--num_classes", r.num_classes, "0: as many as the class folders or the labels of the records")
      .group(group);
  app.option("--image_size", r.image_size, "pixels a side; 0: the model's own").group(group);
  app.option("--label_base", f.label_base, "what record labels start from: auto, 0 or 1").group(group);
  app.option("--num_workers", r.num_workers, "data threads; 0: one per core").group(group);
  app.option("--min_area", r.min_area, "smallest share of an image that a training crop covers").group(group);
  app.option("--crop_padding", r.crop_padding,
             "0 or more: shift training images by at most so many pixels instead of cropping and resizing; -1: off")
      .group(group);
  app.boolean("--flip", r.flip, "training mirrors half of the images: off for digits, text, left and right")
      .group(group);
  app.boolean("--enable_data_pre_proc", r.enable_data_pre_proc,
              "flip and normalise in the compiled step instead of the data workers")
      .group(group);
  app.option("--validation_split", r.validation_split,
             "share of the images of class folders without a validation part that is held back as one, by content")
      .group(group);
  app.boolean("--eval_drop_remainder", r.eval_drop_remainder,
              "leave out the last partial batch of an evaluation, as the original does")
      .group(group);
  add_bad_sample_flags(app, f.bad_samples, group);
  app.boolean("--shard", f.shard, "each rank reads its own part of the data: the only way that several train")
      .group(group);
}

void add_model_flags(Command& app, RecipeFlags& f) {
  train::Recipe& r = f.recipe;
  const char* group = "Model";
  app.option("--model", r.model, joined_names(nn::all_models()) + "; evaluate: by default the checkpoint's")
      .group(group);
  app.option("--alexnet_version,--version", f.alexnet_version,
             "initial weights of alexnet: he_uniform (default), xavier, he_uniform_custom")
      .group(group);
  app.option("--final_relu", f.final_relu,
             "a relu on the logits of alexnet, as the original has: True (default) or False")
      .group(group);
  app.option("--dropout_keep", f.dropout_keep, "share of units that dropout keeps, in (0, 1]; 0: the model's own")
      .group(group);
  app.option("--weights,--restore_path,--pretrained", r.restore_path,
             "start from these weights: a safetensors file (torchvision's names), a checkpoint or its folder, *.rdgm")
      .group(group);
  app.boolean("--reset_head", r.reset_head, "draw the last layer anew instead of restoring it: for other classes")
      .group(group);
  app.option("--restore_exclude", f.restore_exclude, "layers that are not restored for training, by commas")
      .group(group);
  app.option("--dtype", f.dtype, "tf.float32").group(group);
}

void add_loop_flags(Command& app, RecipeFlags& f) {
  train::Recipe& r = f.recipe;
  const char* group = "Run";
  app.option("--mode", f.mode, "train, evaluate or train_and_evaluate").group(group);
  app.option("--preset", f.preset,
             "flags by name or from a YAML file, before all others: " + joined_names(builtin_presets()))
      .group(group);
  app.option("--run_config", f.run_config,
             "JSON file with options of the original's run configuration, before all other flags")
      .group(group);
  app.option("--iterations_per_loop", r.iterations_per_loop, "steps without the host; 0: an epoch's, at most 100")
      .group(group);
  app.option("--epochs_between_evals", r.epochs_between_evals, "of train_and_evaluate").group(group);
  app.option("--display_every,--display", r.display_every, "log only steps that are a multiple of this").group(group);
  app.option("--save_summary_steps", r.save_summary_steps, "steps between log lines").group(group);
  app.option("--save_checkpoints_steps", r.save_checkpoints_steps, "steps between checkpoints").group(group);
  app.boolean("--benchmark", r.benchmark, "at most 5000 steps, and a summary of speed, loss and accuracy in log_dir")
      .group(group);
  app.option("--save_checkpoints_secs", r.save_checkpoints_secs,
             "seconds between checkpoints, looked at where loops end; instead of steps; 0: off")
      .group(group);
  app.boolean("--do_checkpoint", r.do_checkpoint, "write checkpoints").group(group);
  app.option("--max_checkpoint_to_save", r.max_checkpoint_to_save, "newest checkpoints that are kept").group(group);
  app.option("--log_dir", r.log_dir, "log, metrics and checkpoints; a run continues from what is there").group(group);
  app.option("--log_name", r.log_name, "file in log_dir; by default <model>_training.log").group(group);
  app.option("--checkpoint_dir", r.checkpoint_dir, "checkpoints to evaluate").group(group);
  app.option("--rank_size", f.rank_size, "processes that train together, which launch starts; 0: as many as there are")
      .group(group);
  app.option("--group_size", f.group_size, "the same, by its name in the README").group(group);
  app.boolean("--hcom_parallel", f.recipe.hcom_parallel,
              "exchange gradients between ranks beside the backward pass instead of behind it; the bits are the same")
      .group(group);
  app.boolean("--sync_batch_norm", f.recipe.sync_batch_norm,
              "batch norms take their statistics over the batches of all ranks, not of each")
      .group(group);
  app.option("--split_strategy_by_idx", f.split_by_index,
             "by commas, the last gradient in backward order of each bucket that is exchanged at once: 20,100,159")
      .group(group);
  app.option("--split_strategy_by_size", f.split_by_size, "per cent of the bytes of each bucket instead, 100 together")
      .group(group);
  app.boolean("--debug", f.debug, "no effect, as in the original").group(group);
  app.boolean("--eval", f.eval, "no effect, as in the original").group(group);
}

void add_execution_flags(Command& app, RecipeFlags& f) {
  train::Recipe& r = f.recipe;
  const char* group = "Execution";
  app.option("--intra_op_parallelism_threads", r.intra_op_parallelism_threads, "compute threads; 0: one per core")
      .group(group);
  app.option("--inter_op_parallelism_threads", r.inter_op_parallelism_threads,
             "launches of a step side by side, which divide the compute threads; 0: one after the other")
      .group(group);
  add_device_flags(app, r, group);
  add_precision_flags(app, r.precision, group);
  app.option("--amp_level", r.precision.amp_level, "in the place of a precision mode: O0, O1, O2, O3 or auto")
      .group(group);
  app.option("--accelerate_train_mode", f.accelerate_train_mode,
             "experimental: fast or fast1 (16 bits first, f16 or bf16), step or loss, and a ratio: 'fast1|step|0.9'")
      .group(group);
  app.option("--final_loss", f.final_loss, "the loss that accelerate_train_mode by loss aims at").group(group);
  add_promise_flags(app, r, group);
  app.boolean("--fusion", r.fusion, "merge chains of elementwise ops").group(group);
  app.option("--memory_limit", r.memory_limit,
             "most bytes of a step: cheap values are computed twice rather than kept; 0: no limit")
      .group(group);
  app.option("--disable_pass", r.disabled_passes, "leave this compiler pass out; may be given several times")
      .group(group);
  app.option("--dump_ir", r.dump_ir, "write the graph after every compiler pass into this directory").group(group);
  app.option("--log", r.log, "diagnostics by commas: dispatch, placement, memory, passes, data").group(group);
  app.option("--histogram_steps", r.histogram_steps,
             "steps between histograms of weights and gradients in the event file, each a step more of time; 0: none")
      .group(group);
  app.option("--picture_steps", r.picture_steps, "steps between pictures of a batch in the event file; 0: none")
      .group(group);
  app.boolean("--save_graph", r.save_graph, "write the training step's graph into the event file").group(group);
  app.option("--export_step", r.export_step,
             "when the run is over, write its training step into this file (*.rdgm): a program without the model's "
             "source goes on with it")
      .group(group);
  app.option("--trace", r.trace, "write a Chrome trace to this file").group(group);
}

void refuse_unsupported(const RecipeFlags& f) {
  const auto check_size = [](const char* flag, std::int64_t value) {
    if (value >= 0) return;
    throw Error(fmt::format("--{}={} is out of range (allowed: 1 or more, 0: as many as there are)", flag, value),
                ErrorKind::usage);
  };
  check_size("rank_size", f.rank_size);
  check_size("group_size", f.group_size);
  if (f.rank_size > 0 && f.group_size > 0 && f.rank_size != f.group_size) {
    throw Error(
        fmt::format("--rank_size={} and --group_size={} are two names of one number", f.rank_size, f.group_size),
        ErrorKind::usage);
  }
  if (f.dtype != "tf.float32" && f.dtype != "float32" && f.dtype != "fp32") {
    throw Error("--dtype=" + f.dtype + ": this version trains in float32 only (allowed: tf.float32)", ErrorKind::usage);
  }
}

}  // namespace

void add_device_flags(Command& app, train::Recipe& recipe, const std::string& group) {
  app.option("--device", recipe.device, "where steps run: " + device_names()).group(group);
  app.boolean("--allow_soft_placement", recipe.allow_soft_placement,
              "run ops that the device has no kernel for on the CPU instead of refusing them")
      .group(group);
  app.boolean("--log_device_placement", recipe.log_device_placement, "name each op that is moved, and why")
      .group(group);
}

void add_precision_flags(Command& app, train::PrecisionOptions& precision, const std::string& group) {
  const auto names = [](std::string_view PrecisionMode::*column) {
    return joined_names(precision_modes(), [column](const PrecisionMode& mode) { return mode.*column; });
  };
  app.option("--precision_mode", precision.mode, names(&PrecisionMode::name)).group(group);
  app.option("--precision_mode_v2", precision.mode_v2,
             "the same by its newer names, instead: " + names(&PrecisionMode::v2_name))
      .group(group);
  app.option("--modify_mixlist", precision.modify_mixlist,
             "JSON file that moves ops between the lists of the mixed modes")
      .group(group);
  app.option("--keep_dtype", precision.keep_dtype,
             "file of ops, scopes or OpType::NAME, one a line, that keep their types")
      .group(group);
  app.option("--customize_dtypes", precision.customize_dtypes,
             "file of NAME::InputDtype:float16,OutputDtype:float32 or OpType::NAME:.., one a line")
      .group(group);
  app.option("--fp16_compute", precision.fp16_compute,
             "what float16 stands for: exact (rounded exactly, emulated where the device has no kernel) or bf16")
      .group(group);
}

void add_promise_flags(Command& app, train::Recipe& recipe, const std::string& group) {
  app.option("--reproducibility", recipe.reproducibility,
             "the same bits: fast (same machine and threads), deterministic (any number of threads), portable (any "
             "machine)")
      .group(group);
  app.option("--op_select_implmode", recipe.op_select_implmode,
             "high_performance, or high_precision: no algorithms that save multiplications at the cost of accuracy")
      .group(group);
}

void add_recipe_flags(Command& app, RecipeFlags& flags) {
  add_data_flags(app, flags);
  add_model_flags(app, flags);
  add_optimization_flags(app, flags.optimization, flags.recipe, flags.max_train_steps);
  add_loop_flags(app, flags);
  add_execution_flags(app, flags);
}

std::vector<std::string> with_files(const Command& app, const std::vector<std::string>& words) {
  return with_preset(app, with_run_config(words));
}

namespace {

// One setting by itself, so that an Error tells the file and the option in it.
void check_run_setting(const std::string& name, const std::string& flag, const std::string& where) {
  RecipeFlags alone;
  Command app("", "train");
  add_recipe_flags(app, alone);
  try {
    app.parse({flag});
  } catch (const Error& error) {
    std::string option;
    for (const train::RunOption& row : train::run_options()) {
      if (row.setting == name) option = row.name;
    }
    throw Error(fmt::format("{}: {}: {}", where, option, error.what()), error.kind());
  }
}

}  // namespace

std::vector<std::string> with_run_config(const std::vector<std::string>& words) {
  const std::string flag = "--run_config";
  std::string path;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(flag + "=")) path = words[i].substr(flag.size() + 1);
    if (words[i] == flag && i + 1 < words.size()) path = words[i + 1];
  }
  if (path.empty()) return words;
  if (!is_regular_file(path)) throw Error("no such file: " + path + " (--run_config)", ErrorKind::usage);
  const std::string where = "[run_config] " + path;
  const train::RunConfig config = train::read_run_config(read_file(path), where);
  for (const std::string& warning : config.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  std::vector<std::string> all;
  for (const auto& [name, value] : config.settings) {
    all.push_back(fmt::format("--{}={}", name, value));
    check_run_setting(name, all.back(), where);
  }
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

namespace {

template <class Number>
std::vector<Number> numbers_of(const char* flag, const std::string& list) {
  std::vector<Number> numbers;
  for (const std::string& word : split(list)) {
    Number value{};
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || rest != word.data() + word.size())
      throw Error(fmt::format("{}={}: '{}' is no number", flag, list, word), ErrorKind::usage);
    numbers.push_back(value);
  }
  return numbers;
}

void finish_rank_flags(const Command& app, RecipeFlags& f) {
  train::Recipe& r = f.recipe;
  r.rank_size = std::max(f.rank_size, f.group_size);
  if (r.rank_size > 1 && !f.shard) {
    throw Error("--shard=False: several ranks would train on the same images (allowed: True, or one rank)",
                ErrorKind::usage);
  }
  const char* by_size = "--split_strategy_by_size";
  const char* by_index = "--split_strategy_by_idx";
  if (app.given(by_index))
    r.gradient_split = SplitStrategy::by_indices(numbers_of<std::int64_t>(by_index, f.split_by_index));
  if (app.given(by_size)) r.gradient_split = SplitStrategy::by_sizes(numbers_of<double>(by_size, f.split_by_size));
}

}  // namespace

train::Recipe finish_recipe(const Command& app, RecipeFlags& f) {
  refuse_unsupported(f);
  for (const char* flag : {"--debug", "--eval"}) {
    if (app.given(flag)) std::fprintf(stderr, "warning: %s has no effect\n", flag);
  }
  train::Recipe& r = f.recipe;
  // Random pixels have no validation part.
  if (r.synthetic && !app.given("--mode") && f.mode == "train_and_evaluate") f.mode = "train";
  if (r.crop_padding >= 0 && app.given("--min_area"))
    throw Error("--min_area has no effect with --crop_padding: images are shifted, not cropped", ErrorKind::usage);
  r.mode = train::parse_mode(f.mode);
  if (r.mode == train::Mode::evaluate && !app.given("--model")) r.model.clear();
  if (app.given("--save_checkpoints_secs") && app.given("--save_checkpoints_steps"))
    throw Error("--save_checkpoints_steps and --save_checkpoints_secs cannot both be given", ErrorKind::usage);
  r.label_base = data::parse_label_base(f.label_base);
  r.bad_samples = finish_bad_sample_flags(app, f.bad_samples);
  r.model_options.init = f.alexnet_version;
  if (f.dropout_keep != 0) r.model_options.dropout_keep = f.dropout_keep;
  if (!f.final_relu.empty()) {
    if (f.final_relu != "True" && f.final_relu != "False") {
      throw Error("--final_relu=" + f.final_relu + " (allowed: True, False)", ErrorKind::usage);
    }
    r.model_options.final_relu = f.final_relu == "True";
  }
  r.experimental = train::ExperimentalConfig(f.accelerate_train_mode);
  if (app.given("--final_loss")) r.final_loss = f.final_loss;
  if (app.given("--max_train_steps") && f.max_train_steps != 0) r.max_train_steps = f.max_train_steps;
  r.restore_exclude = split(f.restore_exclude);
  finish_optimization_flags(app, f.optimization, r);
  finish_rank_flags(app, f);
  train::check(r);
  if (!r.model.empty()) nn::complete_options(nn::model_named(r.model), r.model_options);
  return r;
}

}  // namespace ridgeline::cli
