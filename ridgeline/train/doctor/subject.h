// ridgeline/train/doctor/subject.h
//
// What the doctor looks at: a network, how it is trained, its data and the weights that there are. A plain value; a
// recipe makes one, and so can a program with a network and data of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/compile/compile.h"
#include "ridgeline/data/api/dataset.h"
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
  std::optional<data::Dataset> training_data;         // of batches, as the steps get them
  std::optional<data::Dataset> validation_data = {};  // likewise
  bool raw_images = false;                            // flip and normalisation are ops of the step
  int image_height = 0, image_width = 0;              // of the stored images; 0: as the files in data_dir say
  std::string data_dir = {};                          // whose files are looked at; empty: none are
  bool upright = false;                               // pictures are turned as their Exif says
  bool split_by_content = false;                  // training and validation are parts of one folder (validation_split)
  std::string restore_path = {};                  // weights that the run starts from; empty: drawn ones
  std::vector<std::string> restore_exclude = {};  // layers that it draws anew all the same
  // Weights that know the classes: restore_path where its last layer is kept, or what the run has saved; empty: none.
  std::string reference = {};
};

// Steps of at most `rows` images, over the recipe's data; without data for random pixels.
Subject subject_of(const Recipe& recipe, std::int64_t rows);

}  // namespace ridgeline::train
