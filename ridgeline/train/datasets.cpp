#include "ridgeline/train/datasets.h"

#include <fmt/format.h>

#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

std::int64_t side(const Recipe& recipe) {
  return recipe.image_size == 0 ? nn::model_named(recipe.model).image_size : recipe.image_size;
}

data::Dataset with_training_transforms(const data::Dataset& source, const Recipe& recipe) {
  return data::training_pipeline(source, pipeline_of(recipe));
}

void check_training_size(std::int64_t records, const Recipe& recipe) {
  if (records >= recipe.batch_size) return;
  throw Error(fmt::format("{} has {} training records, fewer than one batch of {} (--batch_size)", recipe.data_dir,
                          records, recipe.batch_size));
}

// The sources of class folders: DIR/train and DIR/val, each needed part must be there.
RunData open_folders(const Recipe& recipe, const DataNeeds& needs) {
  RunData data;
  std::vector<std::string> names = needs.class_names;
  const fs::path root(recipe.data_dir);
  if (needs.training) {
    const data::Dataset source = data::ImageFolder((root / "train").string());
    names = source.class_names();
    data.training_records = source.num_samples();
    check_training_size(data.training_records, recipe);
    data.training = with_training_transforms(source, recipe);
  }
  if (needs.validation) {
    const data::Dataset source = data::ImageFolder((root / "val").string());
    if (!names.empty() && source.class_names() != names) {
      throw Error(
          fmt::format("the classes in {} ({}) are not those of the training ({}): labels would not mean the same",
                      (root / "val").string(), fmt::join(source.class_names(), ", "), fmt::join(names, ", ")));
    }
    names = source.class_names();
    data.validation_records = source.num_samples();
    data.validation = with_evaluation_transforms(source, recipe);
  }
  data.class_names = names;
  const auto classes = static_cast<std::int64_t>(names.size());
  data.num_classes = recipe.num_classes == 0 ? classes : recipe.num_classes;
  if (data.num_classes < classes) {
    throw Error(fmt::format("--num_classes={} is fewer than the {} class folders of {}", data.num_classes, classes,
                            recipe.data_dir),
                ErrorKind::usage);
  }
  return data;
}

RunData open_records(const Recipe& recipe, const DataNeeds& needs) {
  RunData data;
  data.records = true;
  data.num_classes = recipe.num_classes == 0 ? 1000 : recipe.num_classes;
  data::TFRecordOptions options{.label_base = recipe.label_base, .num_classes = data.num_classes};
  if (needs.label_base) options.label_base = *needs.label_base == 0 ? data::LabelBase::zero : data::LabelBase::one;
  const fs::path root(recipe.data_dir);
  const std::string train_pattern = (root / "train-*").string();
  // Validation alone still asks the training shards for the label base, where they are there.
  if (needs.training || (options.label_base == data::LabelBase::automatic && !glob_files(train_pattern).empty())) {
    const data::Dataset source = data::TFRecord(train_pattern, options);
    data.label_base = source.label_base();
    options.label_base = data.label_base == 0 ? data::LabelBase::zero : data::LabelBase::one;
    if (needs.training) {
      data.training_records = source.num_samples();
      check_training_size(data.training_records, recipe);
      data.training = with_training_transforms(source, recipe);
    }
  }
  if (needs.validation) {
    const data::Dataset source = data::TFRecord((root / "validation-*").string(), options);
    data.label_base = source.label_base();
    data.validation_records = source.num_samples();
    data.validation = with_evaluation_transforms(source, recipe);
  }
  return data;
}

}  // namespace

data::StandardPipeline pipeline_of(const Recipe& recipe) {
  const nn::ModelInfo& model = nn::model_named(recipe.model);
  const nn::EvaluationTransform law = nn::evaluation_transform(model, static_cast<int>(side(recipe)));
  data::StandardPipeline pipeline{.image_size = law.crop,
                                  .batch_size = recipe.batch_size,
                                  .mean = {model.mean.begin(), model.mean.end()},
                                  .std = {model.std.begin(), model.std.end()},
                                  .seed = recipe.seed,
                                  .min_area = recipe.min_area,
                                  .resize = {law.resize},
                                  .drop_remainder = recipe.eval_drop_remainder};
  if (law.rule == nn::ResizeRule::exact) pipeline.resize.push_back(law.resize);
  return pipeline;
}

data::Dataset with_evaluation_transforms(const data::Dataset& source, const Recipe& recipe) {
  return data::evaluation_pipeline(source, pipeline_of(recipe));
}

RunData open_data(const Recipe& recipe, const DataNeeds& needs) {
  if (recipe.data_dir.empty()) throw Error("--data_dir is needed (or --synthetic=True)", ErrorKind::usage);
  const fs::path root(recipe.data_dir);
  if (!fs::is_directory(root)) throw Error("no such directory: " + recipe.data_dir + " (--data_dir)");
  const bool train_files = !glob_files((root / "train-*").string()).empty();
  const bool validation_files = !glob_files((root / "validation-*").string()).empty();
  if (train_files || validation_files) {
    if (needs.training && !train_files) throw Error("no files match " + (root / "train-*").string());
    if (needs.validation && !validation_files) throw Error("no files match " + (root / "validation-*").string());
    return open_records(recipe, needs);
  }
  const char* part = needs.training ? "train" : "val";
  if (!fs::is_directory(root / part)) {
    throw Error(fmt::format("no files match {} and there is no folder {} with class folders in it",
                            (root / (needs.training ? "train-*" : "validation-*")).string(), (root / part).string()));
  }
  return open_folders(recipe, needs);
}

}  // namespace ridgeline::train
