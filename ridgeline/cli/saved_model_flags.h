// ridgeline/cli/saved_model_flags.h
//
// The flags of `predict` and `export` that select a trained model.
#pragma once

#include "ridgeline/cli/flags.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::cli {

inline void add_saved_model_flags(Command& app, train::Recipe& recipe) {
  recipe.model.clear();
  app.option("--model", recipe.model, "the model; by default the checkpoint's");
  app.option("--checkpoint_dir", recipe.checkpoint_dir, "use its newest checkpoint");
  app.option("--checkpoint", recipe.checkpoint,
             "another of its checkpoints: best (of the run's evaluations), or a step");
  app.option("--weights,--restore_path", recipe.restore_path,
             "use these weights instead: a safetensors file (torchvision's names), a checkpoint or *.rdgm");
  app.option("--num_classes", recipe.num_classes, "of weights that do not tell it; 0: the published model's");
  app.option("--image_size", recipe.image_size, "0: the checkpoint's or the model's own");
  app.option("--exif_orientation", recipe.exif_orientation,
             "apply: turn pictures that a camera stored lying or mirrored; ignore; by default as the training did");
}

}  // namespace ridgeline::cli
