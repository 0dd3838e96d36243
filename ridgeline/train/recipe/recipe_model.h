// ridgeline/train/recipe/recipe_model.h
//
// The model that a recipe names. Functions only.
#pragma once

#include <memory>
#include <string_view>

#include "ridgeline/train/model.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// Advice for weights that are used as they are.
inline constexpr std::string_view kOtherClasses = "--num_classes tells how many classes the weights have";

nn::StepOptions step_options(const Recipe& recipe, std::int64_t num_classes);
CompileOptions compile_options(const Recipe& recipe);
// Of the training step over the recipe's ranks.
Distribution distribution_of(const Recipe& recipe);
// For batches of the recipe's size where it trains; its evaluation takes the rows of one of its parts.
std::unique_ptr<Model> model_of(Session& session, const Recipe& recipe, std::int64_t num_classes);

}  // namespace ridgeline::train
