// ridgeline/train/recipe/datasets.h
//
// Makes the two datasets of a run from --data_dir. data/standard/found_data.h decides what the directory contains.
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
  std::int64_t evaluation_batch = 0;  // rows of a batch of `validation`
  std::int64_t num_classes = 0;
  ClassNames classes;
  int label_base = 0;
  std::string layout;  // as of name_of(data::Layout)
  // For the log: what is used and what is not, where labels start, how many classes.
  std::vector<std::string> notes;
  std::shared_ptr<const data::FoundData> found;
  bool has_validation = false;  // the directory has a validation split, or one is made from it
};

// Which splits the run needs.
struct DataNeeds {
  bool training = false;
  bool validation = false;
  bool validation_if_there = false;    // a missing validation split is no Error then
  std::optional<int> label_base = {};  // the label base of the training that made the checkpoint
  ClassNames classes = {};             // likewise; the number of classes is in the recipe
  bool checkpoint = false;             // these two are a checkpoint's: data with other classes are refused
  bool model_file = false;             // the classes are a model file's: likewise
  // That of the checkpoint's training; used if the data have no validation split of their own.
  double validation_split = 0;
  std::string label_field = {};  // likewise; "": the recipe's
  // Where a batch has more rows than this rank's share of the validation split, it gets as many as that. Without the
  // promises of `deterministic` and `portable`, because the order of sums depends on the rows of a batch.
  bool batch_fits = false;
};

// An Error (usage) if no directory is given.
void check_data_dir(const Recipe& recipe, bool training);

// Errors name the directory and what was looked for, or how its classes differ from those of the training split or of
// the checkpoint.
RunData open_data(const Recipe& recipe, const DataNeeds& needs);

// "ignore" if the recipe does not say.
std::string exif_orientation_of(const Recipe& recipe);

// The image pipelines of training and evaluation, from the recipe and its model.
data::StandardPipeline pipeline_of(const Recipe& recipe);

// `source` with the evaluation's transforms: the model's resize and central crop, normalisation, batches.
data::Dataset with_evaluation_transforms(const data::Dataset& source, const Recipe& recipe);

}  // namespace ridgeline::train
