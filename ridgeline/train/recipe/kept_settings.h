// ridgeline/train/recipe/kept_settings.h
//
// The settings that a recipe's checkpoints keep: options whose verdict says so (option_verdict.h), and settings
// composed of several options or the data. Functions only.
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
// `data`: their kind, as in RunData::layout; `records`: how many are in the training split.
RunSettings settings_of(const Recipe& recipe, const std::string& data, std::int64_t records);

// The setting that keeps an option's value, alone or with others; nullptr: none.
const SettingRow* setting_of(const RecipeOption& option);
// What another value does to a resumed run.
Effect effect_of(const RecipeOption& option);

// The value of an option's field.
SettingValue value_of(const RecipeOption& option, const Recipe& recipe);

}  // namespace ridgeline::train
