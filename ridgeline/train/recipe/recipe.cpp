#include "ridgeline/train/recipe/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "ridgeline/compile/fusion_switch.h"
#include "ridgeline/core/error.h"
#include "ridgeline/data/source/tar_labels.h"
#include "ridgeline/data/standard/augment.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/device/devices.h"
#include "ridgeline/image/orientation.h"
#include "ridgeline/train/callback/step_dump.h"
#include "ridgeline/train/metric/table.h"
#include "ridgeline/train/recipe/options.h"
#include "ridgeline/train/recipe/session_options.h"
#include "ridgeline/train/run_files.h"

namespace ridgeline::train {
namespace {

template <class T>
void require(bool holds, const char* flag, const T& value, const char* allowed) {
  if (!holds) throw Error(fmt::format("--{}={} is out of range (allowed: {})", flag, value, allowed), ErrorKind::usage);
}

}  // namespace

Mode parse_mode(const std::string& text) {
  if (text == "train") return Mode::train;
  if (text == "evaluate") return Mode::evaluate;
  if (text == "train_and_evaluate") return Mode::train_and_evaluate;
  throw Error("Invalid type of mode: '" + text + "' (allowed: train, evaluate, train_and_evaluate)", ErrorKind::usage);
}

bool mixes(const Recipe& recipe) { return recipe.mixup > 0 || recipe.cutmix > 0; }
bool balances(const Recipe& recipe) { return recipe.class_weights == "balanced" || recipe.sampler == "balanced"; }

void check_exif_orientation(const std::string& text) {
  const std::vector<std::string>& names = image::exif_orientation_names();
  if (text.empty() || std::find(names.begin(), names.end(), text) != names.end()) return;
  throw Error(fmt::format("--exif_orientation={} (allowed: {})", text, fmt::join(names, ", ")), ErrorKind::usage);
}

std::string log_name_of(const Recipe& recipe) {
  return recipe.log_name.empty() ? recipe.model + "_training.log" : recipe.log_name;
}

void check(const Recipe& r) {
  check_ranges(r);
  if (r.log_name.find('/') != std::string::npos || r.log_name == "." || r.log_name == "..") {
    throw Error("--log_name=" + r.log_name + " is no name of a file in --log_dir (allowed: a name without '/')",
                ErrorKind::usage);
  }
  if (is_file_of_runs(r.log_name))
    throw Error("--log_name=" + r.log_name + ": a run writes another file of this name into --log_dir",
                ErrorKind::usage);
  if (!r.augment.empty()) data::augment_named(r.augment);
  require(r.num_classes >= 0 && r.num_classes != 1, "num_classes", r.num_classes, "2 or more");
  require(!r.max_train_steps || *r.max_train_steps >= 1, "max_train_steps", r.max_train_steps.value_or(0), "1 or more");
  if (!r.shard && std::max(r.rank_size, r.ranks) > 1)
    throw Error("--shard=False: several ranks would train on the same images (allowed: True, or one rank)",
                ErrorKind::usage);
  data::parse_split(r.split);
  if (!r.split.empty() && r.mode != Mode::evaluate)
    throw Error("--split=" + r.split + " names the part that evaluate reads: a training reads its own",
                ErrorKind::usage);
  if (r.allow_missing_shards && r.synthetic)
    throw Error("--allow_missing_shards needs records of --data_dir: random pixels have no shards", ErrorKind::usage);
  if (r.label_field != "auto") {
    if (r.synthetic)
      throw Error("--label_field needs tar archives in --data_dir: random pixels have none", ErrorKind::usage);
    if (r.label_field.empty())
      throw Error("--label_field is empty (allowed: auto, FIELD, FIELD:KEY, /)", ErrorKind::usage);
    try {
      data::parse_tar_label(r.label_field);
    } catch (const Error&) {
      throw Error("--label_field=" + r.label_field + " (allowed: auto, FIELD, FIELD:KEY, /)", ErrorKind::usage);
    }
  }
  if (r.validation_split > 0 && r.synthetic)
    throw Error("--validation_split needs images of --data_dir: random pixels have no validation part",
                ErrorKind::usage);
  check_exif_orientation(r.exif_orientation);
  require(r.class_weights == "none" || r.class_weights == "balanced", "class_weights", r.class_weights,
          "none, balanced");
  require(r.sampler == "shuffle" || r.sampler == "balanced", "sampler", r.sampler, "shuffle, balanced");
  if (r.class_weights != "none" && r.sampler != "shuffle") {
    throw Error(
        "--class_weights=balanced and --sampler=balanced each make up for rare classes, together they would do "
        "it twice: leave one of them out",
        ErrorKind::usage);
  }
  if (r.synthetic && balances(r)) {
    throw Error(fmt::format("--{}=balanced counts the images of each class of --data_dir: random pixels have none",
                            r.sampler != "shuffle" ? "sampler" : "class_weights"),
                ErrorKind::usage);
  }
  if (mixes(r) && r.synthetic)
    throw Error("--mixup and --cutmix mix images of --data_dir: random pixels have nothing to mix", ErrorKind::usage);
  check_metric_names(r.metrics);
  if (!r.metrics.empty() && r.mode == Mode::train)
    throw Error("--metrics needs evaluations: use --mode=train_and_evaluate", ErrorKind::usage);
  if (r.early_stopping > 0 && r.mode == Mode::train) {
    throw Error("--early_stopping needs evaluations: use --mode=train_and_evaluate", ErrorKind::usage);
  }
  if (!r.checkpoint.empty() && r.restore_path.empty() && r.mode != Mode::evaluate) {
    throw Error(
        "--checkpoint chooses what evaluate, predict and export take; a run goes on from its newest checkpoint (for "
        "weights to begin with: --weights=FOLDER --checkpoint=best)",
        ErrorKind::usage);
  }
  if (r.max_time > 0 && r.mode == Mode::evaluate)
    throw Error("--max_time ends a training in time: it needs a mode that trains", ErrorKind::usage);
  if (r.max_time > 0 && !r.do_checkpoint) {
    throw Error(
        "--max_time ends a run with a checkpoint from which the same command goes on: it needs --do_checkpoint=True",
        ErrorKind::usage);
  }
  if (r.reset_head && (r.restore_path.empty() || r.mode == Mode::evaluate)) {
    throw Error(
        "--reset_head draws a layer anew of weights that a training begins with: it needs --weights and a mode that "
        "trains",
        ErrorKind::usage);
  }
  check(r.optimization);
  check(r.parallel, r.batch_size);
  if (r.sync_batch_norm && r.parallel.pipelined())
    throw Error(
        "--sync_batch_norm with --pipeline_stages: all stages have the same batch, and statistics are those of "
        "each micro-batch (allowed: one of the two)",
        ErrorKind::usage);
  gradient_rules(r);
  // Images a step are a number.
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / r.batch_size / r.ranks;
  if (r.optimization.accumulate_steps > most) {
    throw Error(fmt::format("--accumulate_steps={} is out of range (allowed: 1 to {} with --batch_size={}{})",
                            r.optimization.accumulate_steps, most, r.batch_size,
                            r.ranks > 1 ? fmt::format(" on {} ranks", r.ranks) : ""),
                ErrorKind::usage);
  }
  if (r.experimental.accelerate) policy_of(reduced_precision(*r.experimental.accelerate, precision_of(r)));
  const auto& accelerate = r.experimental.accelerate;
  const bool by_loss = accelerate && accelerate->trigger == AccelerateMode::Trigger::loss;
  if (r.final_loss && !(by_loss && *r.final_loss > 0)) {
    throw Error("--final_loss needs --accelerate_train_mode by loss, and is above 0", ErrorKind::usage);
  }
  if (by_loss && r.mode != Mode::evaluate && !r.final_loss && !with_environment({}).target_loss) {
    throw Error(fmt::format("--accelerate_train_mode={} needs the loss that the run aims at: --final_loss=VALUE (or "
                            "TARGET_LOSS in the environment)",
                            text_of(*accelerate)),
                ErrorKind::usage);
  }
  step_dump_options(r.dump);
  if (!r.dump.path.empty() && r.mode == Mode::evaluate)
    throw Error("--dump_path writes values of training steps: it needs a mode that trains", ErrorKind::usage);
  const NamedDevice device = device_named(r.device);
  if (r.fusion) check_fusion(*device.make(), r.fusion);
  policy_of(original_precision(accelerate, precision_of(r)));
  promise_of(r);
  if (r.model.empty() && r.mode == Mode::evaluate) return;  // the checkpoint tells it
  const nn::ModelInfo& model = nn::model_named(r.model);
  nn::check_image_size(model, r.image_size == 0 ? model.image_size : r.image_size);
}

}  // namespace ridgeline::train
