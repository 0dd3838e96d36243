// ridgeline/train/recipe/kept_settings.h
//
// The settings that a recipe's checkpoints keep: those options whose verdict says so (option_verdict.h), and what
// several options or the data make together. Functions only.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ridgeline/train/checkpoint/run_settings.h"
#include "ridgeline/train/recipe/options.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// How each is compared, in the order of the options' table.
std::span<const SettingRow> setting_rows();
// `data`: of which kind they are, as RunData::layout says it, with so many records in the training part.
RunSettings settings_of(const Recipe& recipe, const std::string& data, std::int64_t records);

// The setting that keeps an option's value, alone or with others; nullptr: none does.
const SettingRow* setting_of(const RecipeOption& option);
// What another value does to a run that goes on.
Effect effect_of(const RecipeOption& option);

// The value of an option's field.
SettingValue value_of(const RecipeOption& option, const Recipe& recipe);

}  // namespace ridgeline::train
