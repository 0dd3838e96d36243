#include "ridgeline/train/recipe/shared_settings.h"

#include <fmt/format.h>

#include "ridgeline/train/recipe/kept_settings.h"
#include "ridgeline/train/recipe/resume_check.h"

namespace ridgeline::train {

std::vector<std::pair<std::string, std::string>> shared_settings(const Recipe& recipe, const CheckpointInfo& info,
                                                                 std::int64_t steps) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [name, value] : identity_of(info)) all.emplace_back("--" + name, value);
  for (const RecipeOption& option : recipe_options()) {
    if (!option.verdict.alike) continue;
    const OptionVerdict::Reader shared = option.verdict.shared;
    const SettingValue value = shared != nullptr ? shared(recipe) : value_of(option, recipe);
    all.emplace_back(fmt::format("--{}", option.name), value_text(value));
  }
  // Settings that combine several options.
  for (const SettingRow& row : setting_rows()) {
    if (!row.flag && !row.data) all.emplace_back(row.name, value_text(*info.settings->find(row.name)));
  }
  all.emplace_back("training steps", fmt::format("{}", steps));
  return all;
}

}  // namespace ridgeline::train
