#include "ridgeline/train/recipe/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ridgeline/core/error.h"
#include "ridgeline/train/recipe/kept_settings.h"

namespace ridgeline::train {
namespace {

template <class T>
constexpr bool is_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

template <class T>
void check_range(const RecipeOption& option, const T& given) {
  if constexpr (is_number<T>) {
    const OptionRange& range = option.range;
    const auto value = static_cast<double>(given);
    const bool enough = range.above_least ? value > range.least : value >= range.least;
    const bool few_enough = range.below_most ? value < range.most : value <= range.most;
    if (enough && few_enough) return;
    throw Error(fmt::format("--{}={} is out of range (allowed: {})", option.name, given, range.allowed),
                ErrorKind::usage);
  }
}

// As in --help and presets; empty for lists and unset options.
template <class T>
std::string value_of_option(const T& value) {
  if constexpr (std::is_same_v<T, bool>) return value ? "True" : "False";
  if constexpr (std::is_same_v<T, std::string>) return value;
  if constexpr (is_number<T>) return fmt::format("{}", value);
  return "";
}

std::string_view effect_text(Effect effect) {
  switch (effect) {
    case Effect::defines: return "refused";
    case Effect::changes: return "warning";
    case Effect::none: break;
  }
  return "";
}

// What would be markup in a cell of a Markdown table stands for itself.
std::string table_cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|' || c == '*') cell += '\\';
    cell += c == '<' ? "&lt;" : std::string(1, c);
  }
  return cell;
}

}  // namespace

std::span<const RecipeOption> recipe_options() {
  static const std::vector<RecipeOption> table = [] {
    std::vector<RecipeOption> all;
    for (auto* rows : {data_options, model_options, optimization_options, run_options_of_recipe, parallel_options,
                       execution_options}) {
      for (RecipeOption& row : rows()) all.push_back(std::move(row));
    }
    return all;
  }();
  return table;
}

const RecipeOption* find_option(std::string_view name) {
  for (const RecipeOption& option : recipe_options()) {
    const bool alias = std::find(option.aliases.begin(), option.aliases.end(), name) != option.aliases.end();
    if (option.name == name || alias) return &option;
  }
  return nullptr;
}

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const RecipeOption& option : recipe_options()) {
    names.emplace_back(option.name);
    names.insert(names.end(), option.aliases.begin(), option.aliases.end());
  }
  return names;
}

bool is_off(const RecipeOption& option, std::string_view value) {
  double number = 0;
  const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return option.off && error == std::errc() && rest == value.data() + value.size() && number == *option.off;
}

void check_ranges(const Recipe& recipe) {
  RecipeArguments arguments{.recipe = recipe};
  for (const RecipeOption& option : recipe_options()) {
    if (option.range.allowed.empty()) continue;
    std::visit([&](const auto& field) { check_range(option, field(arguments)); }, option.field);
  }
}

std::string options_table() {
  std::string text;
  std::string_view group;
  RecipeArguments usual;
  for (const RecipeOption& option : recipe_options()) {
    if (option.group.heading != group) {
      text += fmt::format("{}## {}\n\n| flag | default | meaning | if a resumed run changes it |\n|---|---|---|---|\n",
                          group.empty() ? "" : "\n", option.group.heading);
      group = option.group.heading;
    }
    std::string names = fmt::format("`--{}`", option.name);
    for (const std::string_view alias : option.aliases) names += fmt::format(", `--{}`", alias);
    const std::string value =
        std::visit([&](const auto& field) { return value_of_option(field(usual)); }, option.field);
    std::string help = option.help;
    if (!option.range.allowed.empty()) help += fmt::format(" ({})", option.range.allowed);
    text += fmt::format("| {} | {} | {} | {} |\n", names, value.empty() ? "" : "`" + value + "`", table_cell(help),
                        effect_text(effect_of(option)));
  }
  return text;
}

}  // namespace ridgeline::train
