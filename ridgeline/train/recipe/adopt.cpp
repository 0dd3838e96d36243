#include "ridgeline/train/recipe/adopt.h"

#include <fmt/format.h>

#include "ridgeline/core/error.h"
#include "ridgeline/train/recipe/resume_check.h"

namespace ridgeline::train {
namespace {

void adopt_classifier(Recipe& recipe, const ClassifierInfo& classifier, const char* what) {
  if (recipe.num_classes != 0 && recipe.num_classes != classifier.num_classes) {
    throw Error(fmt::format("the {} has {} classes, not {}: leave out --num_classes", what, classifier.num_classes,
                            recipe.num_classes),
                ErrorKind::usage);
  }
  recipe.num_classes = classifier.num_classes;
  if (recipe.image_size == 0) recipe.image_size = classifier.image_size;
  if (!recipe.model_options.final_relu && nn::model_named(recipe.model).has_final_relu)
    recipe.model_options.final_relu = classifier.final_relu;
}

void adopt_checkpoint(Recipe& recipe, const CheckpointInfo& info) {
  adopt_classifier(recipe, classifier_of(info), "checkpoint");
  if (recipe.label_smoothing_of_checkpoint && info.settings)
    recipe.label_smoothing = info.settings->get<double>("label_smoothing", recipe.label_smoothing);
  if (recipe.exif_orientation.empty() && info.settings)
    recipe.exif_orientation = info.settings->get<std::string>("exif_orientation", "ignore");
}

}  // namespace

Recipe adopt_weights(Recipe recipe, const StoredWeights& weights) {
  const char* what = weights.info ? "checkpoint" : "model file";
  if (recipe.model.empty()) {
    recipe.model = weights.model;
    if (recipe.model.empty())
      throw Error("--model is needed with --weights: " + weights.path + " does not tell it", ErrorKind::usage);
  } else if (!weights.model.empty() && weights.model != recipe.model) {
    throw Error(
        fmt::format("the {} holds model {}, not {} (--model={})", what, weights.model, recipe.model, weights.model));
  }
  if (weights.info) adopt_checkpoint(recipe, *weights.info);
  if (weights.classifier) adopt_classifier(recipe, *weights.classifier, what);
  if (recipe.exif_orientation.empty()) recipe.exif_orientation = weights.exif_orientation;
  check(recipe);
  nn::complete_options(nn::model_named(recipe.model), recipe.model_options);
  return recipe;
}

}  // namespace ridgeline::train
