#include "ridgeline/train/recipe/restore_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/train/checkpoint/stored_weights.h"

namespace ridgeline::train {
namespace {

// What differs between the run that made the file and this one, as far as it decides about shapes.
std::string other_run(const StoredWeights& weights, const Recipe& recipe) {
  if (!weights.info || !weights.info->classifier) return "";
  const std::int64_t side = recipe.image_size == 0 ? nn::model_named(recipe.model).image_size : recipe.image_size;
  const std::int64_t there = weights.info->classifier->image_size;
  if (there == side) return "";
  return fmt::format("; the file is of --image_size={}", there);
}

}  // namespace

WeightMatch load_weights(Model& model, const std::string& path, WeightRules rules) {
  const StoredWeights weights = read_weights(path, [](const std::string&) {});
  rules.where = "[weights] " + weights.path;
  return model.load_weights(weights.tensors, std::move(rules));
}

std::vector<std::string> layers_drawn_anew(const Recipe& recipe) {
  std::vector<std::string> layers = recipe.restore_exclude;
  if (recipe.reset_head) layers.push_back(nn::head_of(nn::model_named(recipe.model)));
  return layers;
}

void restore_weights(Model& model, const Recipe& recipe, const OptionalFunction<void(const std::string&)>& log) {
  const StoredWeights weights =
      read_weights(recipe.restore_path, [&](const std::string& text) { log("warning: " + text); });
  if (!weights.model.empty() && weights.model != recipe.model && nn::find_model(weights.model) != nullptr) {
    throw Error(fmt::format("[weights] {} is a {}, not of model {} (--model={})", weights.path, weights.description(),
                            recipe.model, weights.model));
  }
  const std::string head = nn::head_of(nn::model_named(recipe.model));
  const std::string advice = fmt::format(
      "--reset_head draws the last layer, {}, anew for other classes; "
      "--restore_exclude leaves out other layers{}",
      head, other_run(weights, recipe));
  const std::vector<std::string> exclude = layers_drawn_anew(recipe);
  const WeightMatch match =
      model.load_weights(weights.tensors, {.where = "[weights] " + weights.path, .exclude = exclude, .advice = advice});
  // The default is the name of alexnet's head, which other models do not have.
  if (!match.idle.empty() && recipe.restore_exclude != default_restore_exclude()) {
    std::vector<std::string> layers;
    for (const auto* names : {&match.loaded, &match.missing, &match.excluded}) {
      for (const std::string& name : *names) layers.push_back(name.substr(0, name.find_last_of("./")));
    }
    std::sort(layers.begin(), layers.end());
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    throw Error(fmt::format("--restore_exclude={}: {} has no such layer{} (it has {})", match.idle.front(),
                            recipe.model, did_you_mean(match.idle.front(), layers), fmt::join(layers, ", ")),
                ErrorKind::usage);
  }
  const std::string note = match.note();
  log(fmt::format("restored {} of {} tensors from {} ({}{}{})", match.loaded.size(),
                  match.loaded.size() + match.missing.size() + match.excluded.size(), weights.path,
                  weights.description(), note.empty() ? "" : ", ", note));
  const auto list = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) log(fmt::format("  {}: {}", what, fmt::join(names, ", ")));
  };
  list("left out, drawn anew", match.excluded);
  list("not in the file, drawn anew", match.missing);
  list("in the file, not in the model", match.unexpected);
}

}  // namespace ridgeline::train
