#include "ridgeline/train/saved_model.h"

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/nn/prediction_model.h"
#include "ridgeline/train/checkpoint.h"
#include "ridgeline/train/evaluator.h"
#include "ridgeline/train/model.h"
#include "ridgeline/train/recipe_model.h"
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

infer::Model saved_model(const Recipe& recipe) {
  if (!recipe.model.empty()) {
    check(recipe);
  } else if (!recipe.restore_path.empty()) {
    throw Error("--model is needed with --restore_path: the file does not tell it", ErrorKind::usage);
  }
  if (!recipe.restore_path.empty()) {
    if (!is_regular_file(recipe.restore_path)) {
      throw Error("no such file: " + recipe.restore_path + " (--restore_path)");
    }
    const SafetensorsFile file(recipe.restore_path);
    return nn::prediction_model(prediction_options(recipe), averages_first(file.tensors()),
                                "[restore] " + recipe.restore_path + ":", kOtherClasses);
  }
  auto checkpoint =
      load_newest(recipe.checkpoint_dir, [](const std::string& text) { TrainingLog("").line("warning: " + text); });
  if (!checkpoint) {
    throw Error("no checkpoint model.ckpt-<step>.safetensors in " + recipe.checkpoint_dir + " (--checkpoint_dir)");
  }
  Recipe named = recipe;
  if (named.model.empty()) named.model = checkpoint->info.model;
  const Recipe adopted = adopt_checkpoint(named, checkpoint->info);
  // Where the run kept averages of its parameters, those stand for them, as in its evaluations.
  infer::Model model = nn::prediction_model(prediction_options(adopted), averages_first(checkpoint->tensors.tensors()),
                                            "[checkpoint] " + checkpoint->file.path + ":");
  model.class_names = checkpoint->info.class_names;
  return model;
}

}  // namespace ridgeline::train
