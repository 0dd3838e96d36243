#include "ridgeline/train/recipe/datasets.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/data/standard/class_balance.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/data/standard/record_classes.h"
#include "ridgeline/data/standard/validation_split.h"

namespace ridgeline::train {
namespace {

// The published ImageNet models have as many.
constexpr std::int64_t kUnknownClasses = 1000;

std::int64_t side(const Recipe& recipe) {
  return recipe.image_size == 0 ? nn::model_named(recipe.model).image_size : recipe.image_size;
}

void check_training_size(std::int64_t records, const Recipe& recipe) {
  const std::int64_t batches = recipe.optimization.accumulate_steps * recipe.data_ranks();
  if (records / recipe.batch_size >= batches) return;
  if (records >= recipe.batch_size) {
    throw Error(
        fmt::format("{} has {} training records, fewer than a step of {} batches of {} (--accumulate_steps, "
                    "--batch_size{})",
                    recipe.data_dir, records, batches, recipe.batch_size, recipe.ranks > 1 ? ", --rank_size" : ""));
  }
  throw Error(fmt::format("{} has {} training records, fewer than one batch of {} (--batch_size)", recipe.data_dir,
                          records, recipe.batch_size));
}

// One part, opened, and what it tells of its classes.
struct Part {
  data::Dataset source;
  ClassNames classes;
  std::int64_t count = 0;  // of classes: folders, or one more than the greatest label; 0: unknown
  std::string layout, note;
};

// The split of class folders that have no validation part, where the recipe or the checkpoint asks for one.
std::optional<data::ValidationSplit> split_of(const Recipe& recipe, const DataNeeds& needs) {
  if (recipe.validation_split == 0 && needs.validation_split == 0) return std::nullopt;
  const std::vector<data::DataPart> parts = data::find_parts(recipe.data_dir);
  const bool has_validation = data::has_validation(parts);
  if (recipe.validation_split == 0 && has_validation) return std::nullopt;
  const auto refuse = [&](const std::string& why) {
    throw Error(fmt::format("--validation_split={}: {}", recipe.validation_split, why), ErrorKind::usage);
  };
  if (has_validation) refuse(recipe.data_dir + " has a validation part, which would not be used");
  if (parts[0].layout != data::Layout::class_folders)
    refuse(fmt::format("{} holds {}, only class folders can be split", recipe.data_dir, name_of(parts[0].layout)));
  // A smaller share is a part of a greater one.
  if (needs.checkpoint && recipe.validation_split > needs.validation_split) {
    refuse(fmt::format("the checkpoint was trained with {}: images that it was trained on would be counted",
                       needs.validation_split));
  }
  const double share = recipe.validation_split > 0 ? recipe.validation_split : needs.validation_split;
  return data::split_by_content(parts[0].dir, share, recipe.num_workers);
}

// One side of a split.
Part open_side(const Recipe& recipe, const std::vector<std::int64_t>& rows) {
  const data::DataPart part = data::find_part(recipe.data_dir, "train");
  const data::Dataset source = data::open_source(recipe.data_dir, "train").sample(data::SubsetSampler(rows));
  ClassNames classes{.names = source.class_names(), .ids = {}, .complete = true};
  const auto count = static_cast<std::int64_t>(classes.names.size());
  return {source, std::move(classes), count, std::string(data::name_of(part.layout)), part.note};
}

// Without options.num_classes records take the number that their labels have.
Part open_part(const Recipe& recipe, const std::string& split, data::OpenOptions options) {
  const data::DataPart part = data::find_part(recipe.data_dir, split);
  const std::string layout(data::name_of(part.layout));
  if (part.layout != data::Layout::records) {
    const data::Dataset source = data::open_source(recipe.data_dir, split, options);
    ClassNames classes{.names = source.class_names(), .ids = {}, .complete = true};
    const auto count = static_cast<std::int64_t>(classes.names.size());
    return {source, std::move(classes), count, layout, part.note};
  }
  const int base = data::open_source(recipe.data_dir, split, {.label_base = options.label_base}).label_base();
  data::RecordClasses found = data::find_record_classes(part.files, base, recipe.num_workers);
  if (options.num_classes == 0) options.num_classes = found.count;
  return {data::open_source(recipe.data_dir, split, options),
          {.names = std::move(found.names), .ids = std::move(found.ids), .complete = false},
          found.count,
          layout,
          part.note};
}

// What the log says of records and of folders that are not called as usual.
void add_notes(const Part& part, const Recipe& recipe, bool counts, std::vector<std::string>& notes) {
  if (!part.note.empty()) notes.push_back(part.note);
  if (!counts) return;
  const bool records = part.layout == name_of(data::Layout::records);
  if (records) {
    notes.push_back(fmt::format("labels: stored from {} on{}", part.source.label_base(),
                                recipe.label_base == data::LabelBase::automatic ? " (--label_base=auto)" : ""));
  }
  if (recipe.num_classes == 0 && records) {
    notes.push_back(fmt::format("classes: {}, as the labels of the records say (no --num_classes)", part.count));
  } else if (recipe.num_classes == 0 && part.count == 0) {
    notes.push_back(fmt::format("classes: {}, the data do not tell (--num_classes)", kUnknownClasses));
  } else if (records && part.count > recipe.num_classes) {
    notes.push_back(fmt::format("warning: labels go up to {}, those from --num_classes={} on are bad samples",
                                part.count - 1, recipe.num_classes));
  }
}

// The validation part against the training part or the checkpoint.
void check_classes(const Part& val, const ClassNames& trained, std::int64_t num_classes, const DataNeeds& needs,
                   const Recipe& recipe) {
  const char* there = needs.checkpoint ? "in the checkpoint" : "in training";
  const char* here = needs.checkpoint ? "in the data" : "in validation";
  std::string difference = class_difference(trained, there, val.classes, here);
  const bool no_names = trained.names.empty() || val.classes.names.empty();
  if (difference.empty() && no_names && val.classes.complete && val.count > 0 && val.count != num_classes)
    difference = fmt::format("{} classes {}, {} {}", num_classes, there, val.count, here);
  // Under other policies such records are left out and counted.
  const bool raise = recipe.bad_samples.policy == data::BadSamplePolicy::raise;
  if (difference.empty() && !val.classes.complete && raise && val.count > num_classes)
    difference = fmt::format("{} classes {}, labels up to {} {}", num_classes, there, val.count - 1, here);
  if (difference.empty()) return;
  throw Error(fmt::format(
      "the classes of the validation part of {} are not those of {}: {}. Labels would not mean the same: {}",
      recipe.data_dir, needs.checkpoint ? "the checkpoint" : "the training part", difference,
      needs.checkpoint ? "give data with the classes that it was trained on, in the same order"
                       : "both parts need the same classes in the same order"));
}

// Weights of classes or of rows by how many training images each class has. `rows`: of the source, which is used; null:
// all. Labels that cannot be read count as the policy about bad samples has it.
void balance(data::StandardPipeline& pipeline, const Part& part, const std::vector<std::int64_t>* rows,
             const Recipe& recipe, std::vector<std::string>& notes) {
  const bool raise = recipe.bad_samples.policy == data::BadSamplePolicy::raise;
  std::vector<std::int64_t> labels = data::labels_of(part.source, raise, recipe.num_workers);
  if (rows) {
    std::vector<std::int64_t> chosen;
    for (const std::int64_t row : *rows) chosen.push_back(labels[static_cast<std::size_t>(row)]);
    labels = std::move(chosen);
  }
  const data::ClassBalance balance = data::class_balance(labels, pipeline.num_classes);
  const auto name_of = [&](std::int64_t label) {
    const auto at = static_cast<std::size_t>(label);
    return at < part.classes.names.size() ? part.classes.names[at] : fmt::format("label {}", label);
  };
  const auto count_of = [&](std::int64_t label) { return balance.counts[static_cast<std::size_t>(label)]; };
  notes.push_back(fmt::format("classes have from {} images ({}) to {} ({}): {}", count_of(balance.rarest),
                              name_of(balance.rarest), count_of(balance.commonest), name_of(balance.commonest),
                              recipe.sampler == "balanced"
                                  ? "images are drawn so that each class comes equally often (--sampler=balanced)"
                                  : fmt::format("losses count {:.3g} to {:.3g} times (--class_weights=balanced)",
                                                balance.weight(balance.commonest), balance.weight(balance.rarest))));
  if (recipe.sampler == "balanced") {
    for (const std::int64_t label : labels) {
      // One beyond the classes is drawn as any other, and is a bad sample then.
      const bool known = label >= 0 && label < pipeline.num_classes;
      pipeline.row_weights.push_back(label < 0 ? 0 : known ? balance.weight(label) : 1);
    }
  } else {
    for (std::int64_t label = 0; label < pipeline.num_classes; ++label)
      pipeline.class_weights.push_back(balance.weight(label));
    pipeline.label_smoothing = recipe.label_smoothing;
  }
}

}  // namespace

std::string exif_orientation_of(const Recipe& recipe) {
  return recipe.exif_orientation.empty() ? "ignore" : recipe.exif_orientation;
}

data::StandardPipeline pipeline_of(const Recipe& recipe) {
  const nn::ModelInfo& model = nn::model_named(recipe.model);
  const nn::EvaluationTransform rule = nn::evaluation_transform(model, side(recipe));
  data::StandardPipeline pipeline{.image_size = rule.crop,
                                  .batch_size = recipe.batch_size,
                                  .mean = {model.mean.begin(), model.mean.end()},
                                  .std = {model.std.begin(), model.std.end()},
                                  .seed = recipe.seed,
                                  .min_area = recipe.min_area,
                                  .crop_padding = recipe.crop_padding,
                                  .augment = recipe.augment,
                                  .random_erasing = recipe.random_erasing,
                                  .mixup = recipe.mixup,
                                  .cutmix = recipe.cutmix,
                                  .num_classes = recipe.num_classes,
                                  .ranks = recipe.data_ranks(),
                                  .rank = recipe.place,
                                  .flip = recipe.flip,
                                  .exif_orientation = exif_orientation_of(recipe),
                                  .resize = {rule.resize},
                                  .drop_remainder = recipe.eval_drop_remainder};
  if (rule.rule == nn::ResizeRule::exact) pipeline.resize.push_back(rule.resize);
  return pipeline;
}

data::Dataset with_evaluation_transforms(const data::Dataset& source, const Recipe& recipe) {
  data::StandardPipeline pipeline = pipeline_of(recipe);
  if (recipe.parallel.pipelined()) {  // stages train on the same images, and evaluate a share of them each
    pipeline.ranks = recipe.ranks;
    pipeline.rank = recipe.rank;
  }
  return data::evaluation_pipeline(source, pipeline);
}

void check_data_dir(const Recipe& recipe, bool training) {
  if (!recipe.data_dir.empty()) return;
  throw Error(std::string("--data_dir is needed") + (training ? " (or --synthetic=True)" : ""), ErrorKind::usage);
}

RunData open_data(const Recipe& recipe, const DataNeeds& needs) {
  check_data_dir(recipe, needs.training);
  RunData data;
  data.classes = needs.classes;
  data.num_classes = recipe.num_classes;
  data::OpenOptions options{.label_base = recipe.label_base, .num_classes = recipe.num_classes};
  const auto settle_base = [&](int base) {
    options.label_base = base == 0 ? data::LabelBase::zero : data::LabelBase::one;
  };
  if (needs.label_base) settle_base(*needs.label_base);
  // What the first part tells decides the number of classes.
  const auto settle_classes = [&](const Part& part) {
    if (data.num_classes == 0) data.num_classes = part.count > 0 ? part.count : kUnknownClasses;
    if (part.classes.complete && data.num_classes < part.count) {
      const bool folders = part.layout == name_of(data::Layout::class_folders);
      throw Error(fmt::format("--num_classes={} is fewer than the {} {} of {}", data.num_classes, part.count,
                              folders ? "class folders" : "classes", recipe.data_dir),
                  ErrorKind::usage);
    }
    data.label_base = part.source.label_base();
    data.layout = part.layout;
    settle_base(data.label_base);
    options.num_classes = data.num_classes;
  };
  const std::optional<data::ValidationSplit> split = split_of(recipe, needs);
  if (split) data.notes = split->notes;
  // Said before an hour is spent on the training part. A folder that is not there needs no such advice.
  if (needs.training && needs.validation && !split && !data::has_validation(data::find_parts(recipe.data_dir))) {
    try {
      data::find_part(recipe.data_dir, "val");
    } catch (const Error& error) {
      throw Error(std::string(error.what()) +
                      " (--validation_split=0.1 holds back a tenth of the images of class folders, --mode=train trains "
                      "without one)",
                  error.kind());
    }
  }
  if (needs.training) {
    Part part = split ? open_side(recipe, split->train) : open_part(recipe, "train", options);
    settle_classes(part);
    data.training_records = part.source.num_samples();
    check_training_size(data.training_records, recipe);
    data::StandardPipeline pipeline = pipeline_of(recipe);
    pipeline.num_classes = data.num_classes;
    if (balances(recipe)) balance(pipeline, part, split ? &split->train : nullptr, recipe, data.notes);
    data.training = data::training_pipeline(part.source, pipeline);
    add_notes(part, recipe, true, data.notes);
    data.classes = std::move(part.classes);
    const auto most = static_cast<std::size_t>(data.num_classes);
    if (data.classes.names.size() > most) data.classes.names.resize(most);
    if (data.classes.ids.size() > most) data.classes.ids.resize(most);
  }
  if (needs.validation) {
    Part part = split ? open_side(recipe, split->val) : open_part(recipe, "val", options);
    if (needs.checkpoint || needs.training) check_classes(part, data.classes, data.num_classes, needs, recipe);
    if (!needs.training) settle_classes(part);
    data.validation_records = part.source.num_samples();
    data.validation = with_evaluation_transforms(part.source, recipe);
    add_notes(part, recipe, !needs.training && !needs.checkpoint, data.notes);
    if (data.classes.names.empty()) data.classes = std::move(part.classes);
  }
  return data;
}

}  // namespace ridgeline::train
