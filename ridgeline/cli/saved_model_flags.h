// ridgeline/cli/saved_model_flags.h
//
// The flags of `predict` and `export` that select a trained model.
#pragma once

#include "ridgeline/cli/flags.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::cli {

inline void add_saved_model_flags(Command& app, train::Recipe& recipe) {
  recipe.model.clear();
  app.option("--model", recipe.model, "architecture; default: the checkpoint's");
  app.option("--checkpoint_dir", recipe.checkpoint_dir, "folder of checkpoints; the newest is used");
  app.option("--checkpoint", recipe.checkpoint, "use another checkpoint of the folder: best (by evaluation) or a step");
  app.option("--weights,--restore_path", recipe.restore_path,
             "use these weights instead of --checkpoint_dir: a safetensors file (torchvision's names), a checkpoint or "
             "*.rdgm");
  app.option("--num_classes", recipe.num_classes,
             "number of classes, for weights that do not say it; 0: that of the published model");
  app.option("--image_size", recipe.image_size,
             "side of the input images in pixels; 0: the checkpoint's, else the model's default");
  app.option("--exif_orientation", recipe.exif_orientation,
             "rotate and mirror images as their Exif orientation says: apply or ignore; default: as in the training");
}

}  // namespace ridgeline::cli
