#include "ridgeline/train/recipe/saved_model.h"

#include "ridgeline/nn/prediction_model.h"
#include "ridgeline/train/recipe/adopt.h"
#include "ridgeline/train/recipe/chosen_checkpoint.h"
#include "ridgeline/train/recipe/datasets.h"
#include "ridgeline/train/recipe/recipe_model.h"
#include "ridgeline/train/recipe/resume_check.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {
namespace {

// One image at a time, as it is decoded.
nn::StepOptions prediction_options(const Recipe& recipe) {
  nn::StepOptions options = step_options(recipe, recipe.num_classes);
  options.batch_size = 1;
  options.images = nn::ImageForm::u8;
  return options;
}

}  // namespace

infer::Model saved_model(const Recipe& asked) {
  const auto warn = [](const std::string& text) { TrainingLog("").line("warning: " + text); };
  const Recipe given = with_chosen_checkpoint(asked, warn);
  const bool plain = !given.restore_path.empty();
  if (!given.model.empty()) check(given);
  if (!plain) {
    if (const std::string better = better_than_newest(given.checkpoint_dir); !better.empty())
      TrainingLog("").line("note: " + better);
  }
  const StoredWeights weights =
      plain ? read_weights(given.restore_path, warn) : newest_weights(given.checkpoint_dir, warn);
  const Recipe recipe = adopt_weights(given, weights);
  const std::string where = "[weights] " + weights.path;
  std::string note;
  infer::Model model = nn::prediction_model(
      prediction_options(recipe), weights.tensors,
      {.where = where, .advice = weights.info ? std::string() : std::string(kOtherClasses)}, &note);
  if (!note.empty()) TrainingLog("").line(where + ": " + note);
  if (model.preprocessing)
    model.preprocessing->exif_orientation = image::parse_exif_orientation(exif_orientation_of(recipe));
  if (weights.info) model.class_names = classifier_of(*weights.info).class_names;
  return model;
}

}  // namespace ridgeline::train
