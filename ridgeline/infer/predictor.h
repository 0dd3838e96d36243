// ridgeline/infer/predictor.h
//
// Class probabilities of images: a model with its preprocessing in its own session. Needs no data engine and no
// training code. One thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ridgeline/compile/run/session.h"
#include "ridgeline/infer/model.h"

namespace ridgeline::infer {

struct PredictorOptions {
  std::int64_t batch_size = 0;  // rows of one run; 0: as in the graph
  SessionOptions session = {};
};

// One row for each image.
struct Prediction {
  Tensor logits;         // f32[rows, classes]
  Tensor probabilities;  // likewise
};

struct ClassProbability {
  std::int64_t label = 0;
  std::string name;  // empty if the model knows no names
  double probability = 0;
  double logit = 0;
};

class Predictor {
 public:
  // A model without `images`, `logits` or `probabilities` with one row for each image is an Error.
  explicit Predictor(const Model& model, const PredictorOptions& options = {});
  ~Predictor();
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  // The type of `images` for one run.
  const ValueType& images() const;
  std::int64_t classes() const;
  const std::vector<std::string>& class_names() const;

  // Encoded images, any number of them. A model without preprocessing is an Error, as is an image that cannot be
  // decoded: "image 3: [jpeg] ...".
  Prediction predict(std::span<const std::span<const std::uint8_t>> encoded);
  // Images in the graph's type, [rows, ...], with any number of rows.
  Prediction predict(const Tensor& images);
  // One file, all classes, the most probable first. Errors name the file.
  std::vector<ClassProbability> predict_file(const std::string& path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ridgeline::infer
