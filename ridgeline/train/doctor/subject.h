// ridgeline/train/doctor/subject.h
//
// What the doctor examines: a network, how it is trained, its data and existing weights. A plain value, made from a
// recipe or by a program with its own network and data.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/compile/compile.h"
#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/standard/found_data.h"
#include "ridgeline/nn/network.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

struct Subject {
  nn::Network network;
  nn::TrainingOptions training;
  double rate = 0;  // the highest of the schedule
  std::uint64_t seed = 1;
  SessionOptions session = {};
  CompileOptions compile = {};
  std::optional<data::Dataset> training_data;         // of batches, as given to the steps
  std::optional<data::Dataset> validation_data = {};  // likewise
  bool raw_images = false;                            // flip and normalisation are ops of the step
  int image_height = 0, image_width = 0;              // of the stored images; 0: found from the files in data_dir
  std::shared_ptr<const data::FoundData> found = {};  // whose files are examined; null: none
  bool upright = false;                               // pictures are turned upright by their Exif
  bool split_by_content = false;                  // training and validation are splits of one folder (validation_split)
  std::string restore_path = {};                  // weights that the run starts from; empty: drawn ones
  std::vector<std::string> restore_exclude = {};  // layers that are nevertheless drawn anew
  // Weights that know the classes: restore_path if its last layer is kept, or what the run has saved; empty: none.
  std::string reference = {};
};

// Steps of at most `rows` images, over the recipe's data, or over random pixels if it has none.
Subject subject_of(const Recipe& recipe, std::int64_t rows);

}  // namespace ridgeline::train
