#include "ridgeline/cli/replaced_settings.h"

#include <string_view>

#include "ridgeline/cli/optimization_flags.h"
#include "ridgeline/train/recipe/options.h"

namespace ridgeline::cli {
namespace {

// Whether the word sets something: the value for "nothing" does not replace the other flag.
bool says(const std::vector<std::string>& words, std::string_view flag) {
  const std::string value = value_of(words, "--" + std::string(flag));
  const train::RecipeOption* option = train::find_option(flag);
  return !value.empty() && (option == nullptr || !train::is_off(*option, value));
}

bool is_replaced(const std::string& setting, const std::vector<std::string>& words) {
  for (const train::RecipeOption& option : train::recipe_options()) {
    for (const train::OtherWay& way : option.instead_of) {
      if (setting == option.name && says(words, way.option)) return true;
      if (setting == way.option && says(words, option.name)) return true;
    }
  }
  return is_unread(setting, value_of(words, "--optimizer"), value_of(words, "--lr_schedule"));
}

}  // namespace

std::string value_of(const std::vector<std::string>& words, const std::string& flag) {
  std::string value;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(flag + "=")) value = words[i].substr(flag.size() + 1);
    if (words[i] == flag && i + 1 < words.size()) value = words[i + 1];
  }
  return value;
}

FlagValues without_replaced(FlagValues settings, const std::vector<std::string>& words) {
  std::erase_if(settings, [&](const auto& setting) { return is_replaced(setting.first, words); });
  return settings;
}

}  // namespace ridgeline::cli
