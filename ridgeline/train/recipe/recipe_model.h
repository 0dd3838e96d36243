// ridgeline/train/recipe/recipe_model.h
//
// The model that a recipe names. Functions only.
#pragma once

#include <memory>
#include <string_view>

#include "ridgeline/train/model.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// Advice for weights that are used unchanged.
inline constexpr std::string_view kOtherClasses = "--num_classes tells how many classes the weights have";

nn::StepOptions step_options(const Recipe& recipe, std::int64_t num_classes);
CompileOptions compile_options(const Recipe& recipe);
// How the training step is distributed over the recipe's ranks.
Distribution distribution_of(const Recipe& recipe);
// The model for training batches of the recipe's size; its evaluation takes the rows of one part.
std::unique_ptr<Model> model_of(Session& session, const Recipe& recipe, std::int64_t num_classes);

}  // namespace ridgeline::train
