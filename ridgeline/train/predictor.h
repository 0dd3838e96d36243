// ridgeline/train/predictor.h
//
// Class probabilities of image files, through the evaluation transform of the model. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ridgeline/train/recipe.h"

namespace ridgeline::train {

struct ClassProbability {
  std::int64_t label = 0;
  std::string name;  // empty if the checkpoint knows no names
  double probability = 0;
  double logit = 0;
};

class Predictor {
 public:
  // Weights of --restore_path, or of the newest checkpoint in --checkpoint_dir.
  explicit Predictor(const Recipe& recipe);
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  // All classes, the most probable first.
  std::vector<ClassProbability> predict(const std::string& image_path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ridgeline::train
