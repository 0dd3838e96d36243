#include "ridgeline/train/datasets.h"

#include <fmt/format.h>

#include "ridgeline/core/error.h"
#include "ridgeline/data/tool/data_dir.h"

namespace ridgeline::train {
namespace {

std::int64_t side(const Recipe& recipe) {
  return recipe.image_size == 0 ? nn::model_named(recipe.model).image_size : recipe.image_size;
}

void check_training_size(std::int64_t records, const Recipe& recipe) {
  if (records >= recipe.batch_size) return;
  throw Error(fmt::format("{} has {} training records, fewer than one batch of {} (--batch_size)", recipe.data_dir,
                          records, recipe.batch_size));
}

std::string class_list(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

}  // namespace

data::StandardPipeline pipeline_of(const Recipe& recipe) {
  const nn::ModelInfo& model = nn::model_named(recipe.model);
  const nn::EvaluationTransform law = nn::evaluation_transform(model, side(recipe));
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
  const std::string& dir = recipe.data_dir;
  const data::Layout layout = data::find_part(dir, needs.training ? "train" : "val").layout;
  RunData data;
  data.records = layout == data::Layout::records;
  data.class_names = needs.class_names;
  data.num_classes = recipe.num_classes == 0 ? 1000 : recipe.num_classes;  // where the data do not tell
  data::OpenOptions options{.label_base = recipe.label_base, .num_classes = data.num_classes};
  const auto settle_base = [&](int base) {
    options.label_base = base == 0 ? data::LabelBase::zero : data::LabelBase::one;
  };
  if (needs.label_base) settle_base(*needs.label_base);
  if (needs.training) {
    const data::Dataset source = data::open_source(dir, "train", options);
    data.class_names = source.class_names();
    data.label_base = source.label_base();
    settle_base(data.label_base);
    data.training_records = source.num_samples();
    check_training_size(data.training_records, recipe);
    data.training = data::training_pipeline(source, pipeline_of(recipe));
  }
  if (needs.validation) {
    const data::Dataset source = data::open_source(dir, "val", options);
    const std::vector<std::string> names = source.class_names();
    if (!data.class_names.empty() && !names.empty() && names != data.class_names) {
      throw Error(fmt::format(
          "the classes of the validation part of {} ({}) are not those of the training ({}): labels would not mean the "
          "same",
          dir, class_list(names), class_list(data.class_names)));
    }
    if (!names.empty()) data.class_names = names;
    data.label_base = source.label_base();
    data.validation_records = source.num_samples();
    data.validation = with_evaluation_transforms(source, recipe);
  }
  if (data.class_names.empty()) return data;
  const auto classes = static_cast<std::int64_t>(data.class_names.size());
  if (recipe.num_classes == 0) data.num_classes = classes;
  if (data.num_classes < classes) {
    throw Error(fmt::format("--num_classes={} is fewer than the {} {} of {}", data.num_classes, classes,
                            layout == data::Layout::class_folders ? "class folders" : "classes", dir),
                ErrorKind::usage);
  }
  return data;
}

}  // namespace ridgeline::train
