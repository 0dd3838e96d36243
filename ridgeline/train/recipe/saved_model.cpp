#include "ridgeline/train/recipe/saved_model.h"

#include <optional>

#include "ridgeline/infer/model_file.h"
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

// A model file as it is, graph and classes included; none if the recipe asks for another image size, which another
// graph computes.
std::optional<infer::Model> stored_model(const Recipe& recipe) {
  if (!infer::is_model_file(recipe.restore_path)) return std::nullopt;
  infer::Model model = infer::read_model(recipe.restore_path);
  const bool other_size =
      recipe.image_size != 0 && (!model.preprocessing || model.preprocessing->crop != recipe.image_size);
  const bool other_model = !recipe.model.empty() && recipe.model != model.name;  // refused there
  if (other_size || other_model || recipe.num_classes != 0) return std::nullopt;
  check_exif_orientation(recipe.exif_orientation);
  if (model.preprocessing && !recipe.exif_orientation.empty())
    model.preprocessing->exif_orientation = image::parse_exif_orientation(recipe.exif_orientation);
  return model;
}

}  // namespace

infer::Model saved_model(const Recipe& asked) {
  const auto warn = [](const std::string& text) { TrainingLog("").line("warning: " + text); };
  const Recipe given = with_chosen_checkpoint(asked, warn);
  const bool plain = !given.restore_path.empty();
  if (!given.model.empty()) check(given);
  if (std::optional<infer::Model> stored = stored_model(given)) return std::move(*stored);
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
  if (weights.classifier) model.class_names = weights.classifier->class_names;
  return model;
}

}  // namespace ridgeline::train
