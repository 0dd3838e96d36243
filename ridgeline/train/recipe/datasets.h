// ridgeline/train/recipe/datasets.h
//
// From --data_dir to the two datasets of a run. What the directory holds is decided in data/standard/found_data.h.
#pragma once

#include <memory>
#include <optional>

#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/standard/found_data.h"
#include "ridgeline/data/standard/standard_pipeline.h"
#include "ridgeline/train/checkpoint/class_names.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

struct RunData {
  std::optional<data::Dataset> training;    // shuffled, augmented, batched, last partial batch dropped
  std::optional<data::Dataset> validation;  // in order, evaluation transform, batched
  std::int64_t training_records = 0;
  std::int64_t validation_records = 0;
  std::int64_t num_classes = 0;
  ClassNames classes;
  int label_base = 0;
  std::string layout;  // as name_of(data::Layout) has it
  // For the log: what is used and what is not, where labels start, how many classes.
  std::vector<std::string> notes;
  std::shared_ptr<const data::FoundData> found;
  bool has_validation = false;  // the directory has a validation part, or gives one
};

// Which parts the run needs.
struct DataNeeds {
  bool training = false;
  bool validation = false;
  bool validation_if_there = false;    // no validation part is no Error then
  std::optional<int> label_base = {};  // the answer of the training that made the checkpoint
  ClassNames classes = {};             // likewise; the number of classes is in the recipe
  bool checkpoint = false;             // these two are a checkpoint's: data with other classes is refused
  // That the checkpoint's training had; it counts where the data have no validation part of their own.
  double validation_split = 0;
  std::string label_field = {};  // likewise; "": as the recipe says
};

// An Error (usage) where no directory is given.
void check_data_dir(const Recipe& recipe, bool training);

// Errors name the directory and what was looked for, or how its classes differ from those of the training part or of
// the checkpoint.
RunData open_data(const Recipe& recipe, const DataNeeds& needs);

// "ignore" where the recipe does not say.
std::string exif_orientation_of(const Recipe& recipe);

// What training and evaluation do to images, as the recipe and its model say.
data::StandardPipeline pipeline_of(const Recipe& recipe);

// What evaluation does to the images of `source`: the model's resize and central crop, normalisation, batches.
data::Dataset with_evaluation_transforms(const data::Dataset& source, const Recipe& recipe);

}  // namespace ridgeline::train
