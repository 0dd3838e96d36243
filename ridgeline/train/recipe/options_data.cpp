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
       .help =
           "records (train-*, validation-*, test-*), class folders (train/<class>/*, val/<class>/*, test/<class>/*), "
           "packed files (train.ridge, val.ridge, test.ridge) or tar archives (train-*.tar, val-*.tar)",
       .field = [](A& a) -> std::string& { return a.recipe.data_dir; },
       .verdict = verdict::own(),
       .names_file = is_path},
      {"synthetic", group, "train on random pixels; no --data_dir needed",
       [](A& a) -> bool& { return a.recipe.synthetic; }, verdict::part_of("data")},
      {"num_classes", evaluated, "0: as many as the class folders or the labels of the records",
       [](A& a) -> std::int64_t& { return a.recipe.num_classes; }, verdict::identity()},
      {"image_size", evaluated, "pixels a side; 0: the model's own",
       [](A& a) -> std::int64_t& { return a.recipe.image_size; }, verdict::identity()},
      {"label_base", evaluated, "what record labels start from: auto, 0 or 1",
       [](A& a) -> std::string& { return a.label_base; }, verdict::identity()},
      {"label_field", evaluated,
       "of tar archives, what holds the class: a field such as cls, FIELD:KEY of a JSON object, / for folders; auto: "
       "the first of these that is there",
       [](A& a) -> std::string& { return a.recipe.label_field; }, verdict::defines({.kept_later = true})},
      {"num_workers",
       evaluated,
       "data threads; 0: one per core",
       [](A& a) -> int& { return a.recipe.num_workers; },
       verdict::own(),
       {"0 (automatic) or more", 0}},
      {"batch_memory",
       evaluated,
       "bytes of prepared batches; 0: 512 MiB, or six batches, as memory allows",
       [](A& a) -> std::int64_t& { return a.recipe.batch_memory; },
       verdict::own(),
       {"0 (automatic) or more", 0}},
      {"min_area",
       group,
       "smallest share of an image that a training crop covers",
       [](A& a) -> double& { return a.recipe.min_area; },
       verdict::defines(),
       {"(0, 1]", 0, 1, true}},
      {.name = "crop_padding",
       .group = group,
       .help = "0 or more: shift training images by at most so many pixels instead of cropping and resizing; -1: off",
       .field = [](A& a) -> std::int64_t& { return a.recipe.crop_padding; },
       .verdict = verdict::defines(),
       .range = {"-1 (off) to 1024", -1, 1024},
       .instead_of = {{"min_area", "--min_area has no effect with --crop_padding: images are shifted, not cropped"}},
       .off = -1},
      {"augment", group,
       "automatic augmentation of training images, behind the crop: " + joined_names(data::augment_table()),
       [](A& a) -> std::string& { return a.recipe.augment; }, verdict::defines()},
      {"random_erasing",
       group,
       "share of the training images in which a rectangle is filled with the mean colour",
       [](A& a) -> double& { return a.recipe.random_erasing; },
       verdict::defines(),
       {"0 (off) to 1", 0, 1}},
      {"mixup",
       group,
       "blend each training image and its label with another of the batch, by shares of Beta(x, x), such as 0.2; with "
       "cutmix half of the batches each",
       [](A& a) -> double& { return a.recipe.mixup; },
       verdict::defines(),
       {"0 (off) to 1000", 0, 1000}},
      {"cutmix",
       group,
       "put a rectangle of another image of the batch into each training image, labels by its share; its size by "
       "Beta(x, x), such as 1",
       [](A& a) -> double& { return a.recipe.cutmix; },
       verdict::defines(),
       {"0 (off) to 1000", 0, 1000}},
      {"flip", group, "training mirrors half of the images: off for digits, text, left and right",
       [](A& a) -> bool& { return a.recipe.flip; }, verdict::defines()},
      {"exif_orientation", evaluated,
       "apply: turn pictures that a camera stored lying or mirrored, by their Exif; ignore: take pixels as they are "
       "stored. Without it training ignores it, evaluations and predictions do as the training did",
       [](A& a) -> std::string& { return a.recipe.exif_orientation; },
       verdict::defines({.kept = [](const Recipe& r) { return SettingValue(exif_orientation_of(r)); }})},
      {"class_weights", group,
       "balanced: the loss of a training image is multiplied by images / (classes * images of its class), so that "
       "each class counts alike; none",
       [](A& a) -> std::string& { return a.recipe.class_weights; }, verdict::defines()},
      {"sampler", group,
       "what an epoch of training reads: shuffle, each image once; balanced, as many, drawn with repetition so that "
       "classes come equally often",
       [](A& a) -> std::string& { return a.recipe.sampler; }, verdict::defines()},
      {"enable_data_pre_proc", evaluated, "flip and normalise in the compiled step instead of the data workers",
       [](A& a) -> bool& { return a.recipe.enable_data_pre_proc; }, verdict::alike()},
      {"validation_split",
       evaluated,
       "share of the images of class folders without a validation part that is held back as one, by content",
       [](A& a) -> double& { return a.recipe.validation_split; },
       verdict::defines(),
       {"[0, 1)", 0, 1, false, true}},
      {"split", evaluated, "the part that evaluate reads: train, val or test; val, or what stands for it, if not given",
       [](A& a) -> std::string& { return a.recipe.split; }, verdict::own()},
      {"allow_missing_shards", evaluated, "go on with record files of which shards are missing or empty",
       [](A& a) -> bool& { return a.recipe.allow_missing_shards; }, verdict::alike()},
      {"eval_drop_remainder", evaluated, "leave out the last partial batch of an evaluation, as the original does",
       [](A& a) -> bool& { return a.recipe.eval_drop_remainder; }, verdict::changes({.kept_later = true})},
      {"bad_samples", evaluated,
       "what a damaged record or image does: raise ends the run and names it, skip leaves its row out of the step, "
       "replace takes another sample (an evaluation leaves it out)",
       [](A& a) -> std::string& { return a.bad_samples; },
       verdict::changes({.kept = bad_samples_of, .kept_later = true})},
      {"bad_sample_budget",
       evaluated,
       "bad samples that are tolerated; one more ends the run",
       [](A& a) -> std::int64_t& { return a.recipe.bad_samples.budget; },
       verdict::own(),
       {"0 or more", 0}},
      {"quarantine", evaluated, "file that gets a JSON line for each bad sample",
       [](A& a) -> std::string& { return a.recipe.bad_samples.quarantine; }, verdict::own()},
      {"shard", group, "each rank reads its own part of the data: the only way that several train",
       [](A& a) -> bool& { return a.recipe.shard; }, verdict::own()},
  };
}

}  // namespace ridgeline::train
