#include "ridgeline/core/joined_names.h"
#include "ridgeline/data/standard/augment.h"
#include "ridgeline/train/recipe/datasets.h"
#include "ridgeline/train/recipe/options.h"

namespace ridgeline::train {
namespace {

SettingValue bad_samples_of(const Recipe& recipe) {
  switch (recipe.bad_samples.policy) {
    case data::BadSamplePolicy::raise: return std::string("raise");
    case data::BadSamplePolicy::skip: return std::string("skip");
    case data::BadSamplePolicy::replace: break;
  }
  return std::string("replace");
}

}  // namespace

std::vector<RecipeOption> data_options() {
  using A = RecipeArguments;
  const OptionGroup group{"Data"}, evaluated{"Data", kInEvaluations};
  return {
      {.name = "data_dir",
       .group = evaluated,
       .help = "data set folder: TFRecords (train-*, validation-*, test-*), class folders (train/<class>/*, "
               "val/<class>/*, test/<class>/*), packed files (train.ridge, val.ridge, test.ridge) or tar archives "
               "(train-*.tar, val-*.tar)",
       .field = [](A& a) -> std::string& { return a.recipe.data_dir; },
       .verdict = verdict::own(),
       .names_file = is_path},
      {"synthetic", group, "train on random pixels; --data_dir is not needed",
       [](A& a) -> bool& { return a.recipe.synthetic; }, verdict::part_of("data")},
      {"num_classes", evaluated, "number of classes; 0: as many as the class folders or the labels of the records",
       [](A& a) -> std::int64_t& { return a.recipe.num_classes; }, verdict::identity()},
      {"image_size", evaluated, "side of the input images in pixels; 0: the model's default",
       [](A& a) -> std::int64_t& { return a.recipe.image_size; }, verdict::identity()},
      {"label_base", evaluated, "label of the first class in records: 0, 1 or auto (detected)",
       [](A& a) -> std::string& { return a.label_base; }, verdict::identity()},
      {"label_field", evaluated,
       "tar archives: where the class is: a field such as cls, FIELD:KEY of a JSON object, or / for folder names; "
       "auto: the first of these that exists",
       [](A& a) -> std::string& { return a.recipe.label_field; }, verdict::defines({.kept_later = true})},
      {"num_workers",
       evaluated,
       "threads that read and decode images; 0: one per core",
       [](A& a) -> int& { return a.recipe.num_workers; },
       verdict::own(),
       {"0 (automatic) or more", 0}},
      {"batch_memory",
       evaluated,
       "most memory for prefetched batches, in bytes; 0: 512 MiB or, if larger, six batches, as far as memory allows",
       [](A& a) -> std::int64_t& { return a.recipe.batch_memory; },
       verdict::own(),
       {"0 (automatic) or more", 0}},
      {"min_area",
       group,
       "smallest share of the image area that a training crop covers",
       [](A& a) -> double& { return a.recipe.min_area; },
       verdict::defines(),
       {"(0, 1]", 0, 1, true}},
      {.name = "crop_padding",
       .group = group,
       .help = "shift training images by up to this many pixels instead of cropping and resizing; -1: off",
       .field = [](A& a) -> std::int64_t& { return a.recipe.crop_padding; },
       .verdict = verdict::defines(),
       .range = {"-1 (off) to 1024", -1, 1024},
       .instead_of = {{"min_area", "--min_area has no effect with --crop_padding: images are shifted, not cropped"}},
       .off = -1},
      {"augment", group,
       "augmentation policy of training images, applied after the crop: " + joined_names(data::augment_table()),
       [](A& a) -> std::string& { return a.recipe.augment; }, verdict::defines()},
      {"random_erasing",
       group,
       "probability that a rectangle of a training image is filled with the mean colour",
       [](A& a) -> double& { return a.recipe.random_erasing; },
       verdict::defines(),
       {"0 (off) to 1", 0, 1}},
      {"mixup",
       group,
       "mixup alpha, such as 0.2: blend each training image and its label with another of the batch, weights from "
       "Beta(alpha, alpha); with --cutmix, each is used for half of the batches",
       [](A& a) -> double& { return a.recipe.mixup; },
       verdict::defines(),
       {"0 (off) to 1000", 0, 1000}},
      {"cutmix",
       group,
       "CutMix alpha, such as 1: paste a rectangle of another image of the batch into each training image, area from "
       "Beta(alpha, alpha), and weight the labels by area",
       [](A& a) -> double& { return a.recipe.cutmix; },
       verdict::defines(),
       {"0 (off) to 1000", 0, 1000}},
      {"flip", group,
       "mirror half of the training images; False for digits, text and classes that differ by left and right",
       [](A& a) -> bool& { return a.recipe.flip; }, verdict::defines()},
      {"exif_orientation", evaluated,
       "rotate and mirror images as their Exif orientation says: apply or ignore; default: training ignores it, "
       "evaluation and prediction use the setting of the training",
       [](A& a) -> std::string& { return a.recipe.exif_orientation; },
       verdict::defines({.kept = [](const Recipe& r) { return SettingValue(exif_orientation_of(r)); }})},
      {"class_weights", group,
       "weight of each image in the training loss: none (all equal) or balanced (images / (classes * images of its "
       "class), so that all classes count equally)",
       [](A& a) -> std::string& { return a.recipe.class_weights; }, verdict::defines()},
      {"sampler", group,
       "images of a training epoch: shuffle (each image once) or balanced (as many, drawn with replacement, all "
       "classes equally often)",
       [](A& a) -> std::string& { return a.recipe.sampler; }, verdict::defines()},
      {"enable_data_pre_proc", evaluated, "flip and normalise in the compiled step instead of in the data workers",
       [](A& a) -> bool& { return a.recipe.enable_data_pre_proc; }, verdict::alike()},
      {"validation_split",
       evaluated,
       "class folders without a validation split: share of the images held out as one, chosen by a hash of their "
       "content",
       [](A& a) -> double& { return a.recipe.validation_split; },
       verdict::defines(),
       {"[0, 1)", 0, 1, false, true}},
      {"split", evaluated, "split that evaluate reads: train, val or test; default: the one used for validation",
       [](A& a) -> std::string& { return a.recipe.split; }, verdict::own()},
      {"allow_missing_shards", evaluated, "accept record files of which shards are missing or empty",
       [](A& a) -> bool& { return a.recipe.allow_missing_shards; }, verdict::alike()},
      {"eval_drop_remainder", evaluated,
       "leave out the last partial batch of an evaluation, as the ModelZoo recipe does",
       [](A& a) -> bool& { return a.recipe.eval_drop_remainder; }, verdict::changes({.kept_later = true})},
      {"bad_samples", evaluated,
       "what happens on a damaged record or image: raise (the run ends with an error), skip (its row is left out of "
       "the step) or replace (another sample takes its place; evaluations leave it out)",
       [](A& a) -> std::string& { return a.bad_samples; },
       verdict::changes({.kept = bad_samples_of, .kept_later = true})},
      {"bad_sample_budget",
       evaluated,
       "number of bad samples tolerated; one more ends the run",
       [](A& a) -> std::int64_t& { return a.recipe.bad_samples.budget; },
       verdict::own(),
       {"0 or more", 0}},
      {"quarantine", evaluated, "write a JSON line for each bad sample to this file",
       [](A& a) -> std::string& { return a.recipe.bad_samples.quarantine; }, verdict::own()},
      {"shard", group, "each rank reads its own shard of the data; must be True with several ranks",
       [](A& a) -> bool& { return a.recipe.shard; }, verdict::own()},
  };
}

}  // namespace ridgeline::train
