#include "ridgeline/train/doctor/subject.h"

#include <algorithm>

#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/recipe/datasets.h"
#include "ridgeline/train/recipe/recipe_model.h"
#include "ridgeline/train/recipe/restore_weights.h"
#include "ridgeline/train/recipe/session_options.h"

namespace ridgeline::train {

Subject subject_of(const Recipe& given, std::int64_t rows) {
  Recipe recipe = given;
  // The checks need the class of each image, and bad samples are found by `files`.
  recipe.mixup = recipe.cutmix = 0;
  recipe.class_weights = "none";
  recipe.bad_samples = {};
  recipe.parallel = {};  // one rank looks at the whole step
  recipe.batch_size = std::min(recipe.batch_size, rows);
  std::int64_t classes = recipe.num_classes == 0 ? 1000 : recipe.num_classes;
  RunData data;
  if (!recipe.synthetic) {
    data = open_data(recipe, {.training = true, .validation = true, .validation_if_there = true});
    classes = data.num_classes;
  }
  const std::int64_t steps = std::max<std::int64_t>(1, data.training_records / recipe.batch_size);
  Subject subject{.network = nn::image_classifier(step_options(recipe, classes)),
                  .training = training_options(recipe, schedule_of(recipe, steps)),
                  .rate = recipe.lr,
                  .seed = recipe.seed,
                  .session = session_options(recipe),
                  .compile = compile_options(recipe),
                  .training_data = std::move(data.training),
                  .validation_data = std::move(data.validation),
                  .raw_images = recipe.enable_data_pre_proc,
                  .found = std::move(data.found),
                  .upright = exif_orientation_of(recipe) == "apply",
                  .split_by_content = recipe.validation_split > 0,
                  .restore_path = recipe.restore_path,
                  .restore_exclude = layers_drawn_anew(recipe),
                  .reference = recipe.reset_head ? "" : recipe.restore_path};  // else it knows other classes
  if (subject.reference.empty()) {
    if (const std::vector<CheckpointFile> saved = list_checkpoints(recipe.log_dir); !saved.empty())
      subject.reference = saved.back().path;
  }
  return subject;
}

}  // namespace ridgeline::train
