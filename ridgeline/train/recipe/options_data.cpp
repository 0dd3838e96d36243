#include "ridgeline/core/joined_names.h"
#include "ridgeline/data/standard/augment.h"
#include "ridgeline/train/recipe/options.h"

namespace ridgeline::train {

std::vector<RecipeOption> data_options() {
  using A = RecipeArguments;
  const std::string_view group = "Data";
  return {
      {.name = "data_dir",
       .group = group,
       .help = "records (train-*, validation-*), class folders (train/<class>/*, val/<class>/* or test/<class>/*) or "
               "packed files (train.ridge, val.ridge)",
       .field = [](A& a) -> std::string& { return a.recipe.data_dir; },
       .names_file = is_path},
      {"synthetic", group, "train on random pixels; no --data_dir needed",
       [](A& a) -> bool& { return a.recipe.synthetic; }},
      {"num_classes", group, "0: as many as the class folders or the labels of the records",
       [](A& a) -> std::int64_t& { return a.recipe.num_classes; }},
      {"image_size", group, "pixels a side; 0: the model's own",
       [](A& a) -> std::int64_t& { return a.recipe.image_size; }},
      {"label_base", group, "what record labels start from: auto, 0 or 1",
       [](A& a) -> std::string& { return a.label_base; }},
      {"num_workers",
       group,
       "data threads; 0: one per core",
       [](A& a) -> int& { return a.recipe.num_workers; },
       {"0 (automatic) or more", 0}},
      {"min_area",
       group,
       "smallest share of an image that a training crop covers",
       [](A& a) -> double& { return a.recipe.min_area; },
       {"(0, 1]", 0, 1, true}},
      {"crop_padding",
       group,
       "0 or more: shift training images by at most so many pixels instead of cropping and resizing; -1: off",
       [](A& a) -> std::int64_t& { return a.recipe.crop_padding; },
       {"-1 (off) to 1024", -1, 1024}},
      {"augment", group,
       "automatic augmentation of training images, behind the crop: " + joined_names(data::augment_table()),
       [](A& a) -> std::string& { return a.recipe.augment; }},
      {"random_erasing",
       group,
       "share of the training images in which a rectangle is filled with the mean colour",
       [](A& a) -> double& { return a.recipe.random_erasing; },
       {"0 (off) to 1", 0, 1}},
      {"mixup",
       group,
       "blend each training image and its label with another of the batch, by shares of Beta(x, x), such as 0.2; with "
       "cutmix half of the batches each",
       [](A& a) -> double& { return a.recipe.mixup; },
       {"0 (off) to 1000", 0, 1000}},
      {"cutmix",
       group,
       "put a rectangle of another image of the batch into each training image, labels by its share; its size by "
       "Beta(x, x), such as 1",
       [](A& a) -> double& { return a.recipe.cutmix; },
       {"0 (off) to 1000", 0, 1000}},
      {"flip", group, "training mirrors half of the images: off for digits, text, left and right",
       [](A& a) -> bool& { return a.recipe.flip; }},
      {"exif_orientation", group,
       "apply: turn pictures that a camera stored lying or mirrored, by their Exif; ignore: take pixels as they are "
       "stored. Without it training ignores it, evaluations and predictions do as the training did",
       [](A& a) -> std::string& { return a.recipe.exif_orientation; }},
      {"class_weights", group,
       "balanced: the loss of a training image is multiplied by images / (classes * images of its class), so that "
       "each class counts alike; none",
       [](A& a) -> std::string& { return a.recipe.class_weights; }},
      {"sampler", group,
       "what an epoch of training reads: shuffle, each image once; balanced, as many, drawn with repetition so that "
       "classes come equally often",
       [](A& a) -> std::string& { return a.recipe.sampler; }},
      {"enable_data_pre_proc", group, "flip and normalise in the compiled step instead of the data workers",
       [](A& a) -> bool& { return a.recipe.enable_data_pre_proc; }},
      {"validation_split",
       group,
       "share of the images of class folders without a validation part that is held back as one, by content",
       [](A& a) -> double& { return a.recipe.validation_split; },
       {"[0, 1)", 0, 1, false, true}},
      {"eval_drop_remainder", group, "leave out the last partial batch of an evaluation, as the original does",
       [](A& a) -> bool& { return a.recipe.eval_drop_remainder; }},
      {"bad_samples", group,
       "what a damaged record or image does: raise ends the run and names it, skip leaves its row out of the step, "
       "replace takes another sample (an evaluation leaves it out)",
       [](A& a) -> std::string& { return a.bad_samples; }},
      {"bad_sample_budget",
       group,
       "bad samples that are endured; one more ends the run",
       [](A& a) -> std::int64_t& { return a.recipe.bad_samples.budget; },
       {"0 or more", 0}},
      {"quarantine", group, "file that gets a JSON line for each bad sample",
       [](A& a) -> std::string& { return a.recipe.bad_samples.quarantine; }},
      {"shard", group, "each rank reads its own part of the data: the only way that several train",
       [](A& a) -> bool& { return a.recipe.shard; }},
  };
}

}  // namespace ridgeline::train
