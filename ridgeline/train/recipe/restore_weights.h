// ridgeline/train/recipe/restore_weights.h
//
// Fine-tuning: a run that begins with the weights of a file instead of drawn ones. Functions only.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/core/given_function.h"
#include "ridgeline/train/model.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// Sets the parameters and statistics of the model, whose training is prepared, from recipe.restore_path. Those of
// layers_drawn_anew() keep their drawn values.
// A tensor of another shape is an Error that names it, both shapes and the flag that leaves it out. `log` gets what was
// taken, left out, missing and unexpected.
void restore_weights(Model& model, const Recipe& recipe, const OptionalFunction<void(const std::string&)>& log);

// Layers that a run of the recipe does not restore: those of restore_exclude, and with reset_head the last one.
std::vector<std::string> layers_drawn_anew(const Recipe& recipe);

// Loads the weights of a file (stored_weights.h) with Model::load_weights; `rules.where` is the file.
WeightMatch load_weights(Model& model, const std::string& path, WeightRules rules);

}  // namespace ridgeline::train
