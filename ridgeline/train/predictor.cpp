#include "ridgeline/train/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "ridgeline/core/bytes.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/runtime/iterator.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/train/checkpoint.h"
#include "ridgeline/train/datasets.h"
#include "ridgeline/train/evaluator.h"
#include "ridgeline/train/recipe_model.h"
#include "ridgeline/train/session_options.h"
#include "ridgeline/train/training_log.h"

namespace ridgeline::train {

struct Predictor::State {
  Recipe recipe;
  Session session;
  std::unique_ptr<Model> model;
  std::vector<std::string> class_names;

  explicit State(Recipe r) : recipe(std::move(r)), session(session_options(recipe)) {}
};

Predictor::Predictor(const Recipe& given) {
  Recipe recipe = given;
  recipe.batch_size = 1;
  recipe.enable_data_pre_proc = false;
  if (!recipe.restore_path.empty()) {
    if (!is_regular_file(recipe.restore_path)) {
      throw Error("no such file: " + recipe.restore_path + " (--restore_path)");
    }
    state_ = std::make_unique<State>(recipe);
    const std::int64_t classes = recipe.num_classes == 0 ? nn::model_named(recipe.model).classes : recipe.num_classes;
    state_->model = model_of(state_->session, state_->recipe, classes);
    state_->model->prepare_prediction();
    const nn::WeightMatch match = state_->model->load_weights(recipe.restore_path, {}, kOtherClasses);
    if (!match.missing.empty()) {
      throw Error(fmt::format("[restore] {}: lacks {}", recipe.restore_path, fmt::join(match.missing, ", ")));
    }
    return;
  }
  auto checkpoint =
      load_newest(recipe.checkpoint_dir, [](const std::string& text) { TrainingLog("").line("warning: " + text); });
  if (!checkpoint) {
    throw Error("no checkpoint model.ckpt-<step>.safetensors in " + recipe.checkpoint_dir + " (--checkpoint_dir)");
  }
  recipe = adopt_checkpoint(recipe, checkpoint->info);
  state_ = std::make_unique<State>(recipe);
  state_->class_names = checkpoint->info.class_names;
  state_->model = model_of(state_->session, state_->recipe, recipe.num_classes);
  state_->model->prepare_prediction();
  state_->model->load(checkpoint->tensors);
}

Predictor::~Predictor() = default;

std::vector<ClassProbability> Predictor::predict(const std::string& image_path) {
  const std::string file = read_file(image_path);
  image::Image pixels;
  try {
    pixels = image::decode(as_bytes(file));
  } catch (const Error& error) {
    throw Error(image_path + ": " + error.what());
  }
  const Tensor column = Tensor::view(pixels.data(), DType::u8, Shape{1, pixels.height(), pixels.width(), 3});
  const data::Dataset dataset =
      with_evaluation_transforms(data::InMemory({{data::kImageColumn, column}}), state_->recipe);
  data::Iterator iterator(dataset, {.pull = true});
  const auto batch = iterator.next();
  Program& program = state_->model->prediction();
  program.bind(nn::kImagesInput, batch->image());
  program.run();
  const Tensor probabilities = program.output("probabilities");
  const Tensor logits = program.output("logits");
  std::vector<ClassProbability> classes;
  for (std::int64_t k = 0; k < probabilities.elements(); ++k) {
    const std::string name = static_cast<std::size_t>(k) < state_->class_names.size()
                                 ? state_->class_names[static_cast<std::size_t>(k)]
                                 : std::string();
    classes.push_back({k, name, probabilities.at(k), logits.at(k)});
  }
  std::stable_sort(classes.begin(), classes.end(),
                   [](const auto& a, const auto& b) { return a.probability > b.probability; });
  return classes;
}

}  // namespace ridgeline::train
