#include "ridgeline/train/recipe/kept_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/nn/models.h"
#include "ridgeline/train/accelerate.h"
#include "ridgeline/train/recipe/recipe_model.h"
#include "ridgeline/train/recipe/session_options.h"

namespace ridgeline::train {
namespace {

// The settings of a precision mode beside its name: files by their contents, since paths depend on the host. Under
// stepped precision the mode is the reduced one.
SettingValue types_of_ops(const Recipe& recipe) {
  const std::optional<AccelerateMode>& accelerate = recipe.experimental.accelerate;
  const PrecisionPolicy policy =
      policy_of(accelerate ? reduced_precision(*accelerate, precision_of(recipe)) : precision_of(recipe));
  std::vector<std::string> told;
  for (const auto& [op, list] : policy.moved) told.push_back(fmt::format("{} is {}", op, name_of(list)));
  for (const std::string& name : policy.keep) told.push_back(name + " keeps its types");
  for (const std::string& op : policy.keep_ops) told.push_back(fmt::format("ops {} keep their types", op));
  for (const PrecisionOverride& entry : policy.overrides) {
    told.push_back(fmt::format("{}{} is {} to {}", entry.by_name ? "" : "ops ", entry.key, name_of(entry.operands),
                               name_of(entry.results)));
  }
  return fmt::format("{}", fmt::join(told, ", "));
}

// The number of images over which a batch norm takes its statistics, which depends on the number of ranks; 0: the model
// has no batch norm.
SettingValue statistics_batch(const Recipe& recipe) {
  const nn::ModelInfo& model = nn::model_named(recipe.model);
  const nn::StepOptions options = step_options(recipe, recipe.num_classes > 0 ? recipe.num_classes : model.classes);
  const std::vector<ParameterSpec> all =
      nn::parameters_of(model, nn::complete_options(model, options.model_options), options.image_size);
  const bool has_statistics = std::any_of(all.begin(), all.end(), [](const ParameterSpec& parameter) {
    return parameter.role == ParameterRole::statistic;
  });
  if (!has_statistics) return std::int64_t{0};
  const std::int64_t of_rank = recipe.batch_size / recipe.parallel.micro_batches_of_step();
  return recipe.sync_batch_norm ? of_rank * recipe.data_ranks() : of_rank;
}

// A setting that combines several options.
struct ComposedSetting {
  std::string_view name;
  Effect effect;
  OptionVerdict::Reader value;  // nullptr: of the data
  bool kept_later = false;
};
constexpr std::array<ComposedSetting, 7> kComposed{{
    {"data", Effect::defines, nullptr},
    {"records", Effect::defines, nullptr},
    {"optimizer settings", Effect::changes,
     [](const Recipe& r) { return SettingValue(optimizer_settings(r.optimization)); }},
    {"schedule settings", Effect::changes,
     [](const Recipe& r) { return SettingValue(schedule_settings(r.optimization)); }},
    // Other parameters that are frozen have other slots.
    {"parameter groups", Effect::defines, [](const Recipe& r) { return SettingValue(group_settings(r.optimization)); }},
    {"types of ops", Effect::changes, types_of_ops, true},
    {"batch of statistics", Effect::changes, statistics_batch, true},
}};

std::string flags_of(std::string_view composed) {
  std::vector<std::string> flags;
  for (const RecipeOption& option : recipe_options()) {
    const OptionVerdict& verdict = option.verdict;
    if (verdict.place == OptionVerdict::Place::composed && verdict.setting == composed)
      flags.push_back(fmt::format("--{}", option.name));
  }
  return fmt::format("{}", fmt::join(flags, ", "));
}

bool is_setting(const RecipeOption& option) { return option.verdict.place == OptionVerdict::Place::setting; }

}  // namespace

SettingValue value_of(const RecipeOption& option, const Recipe& recipe) {
  RecipeArguments arguments{.recipe = recipe};
  return std::visit(
      [&](const auto& field) -> SettingValue {
        const auto& value = field(arguments);
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::vector<std::string>>)
          return fmt::format("{}", fmt::join(value, ","));
        else if constexpr (std::is_same_v<Value, std::optional<bool>>)
          return value ? std::string(*value ? "True" : "False") : std::string();
        else if constexpr (std::is_same_v<Value, int> || std::is_same_v<Value, std::uint64_t>)
          return static_cast<std::int64_t>(value);
        else
          return value;
      },
      option.field);
}

std::span<const SettingRow> setting_rows() {
  static const std::vector<SettingRow> rows = [] {
    // Files without a setting are older than its option and so have its default, unless the option was not stored from
    // the beginning.
    const RunSettings usual = settings_of(Recipe(), "", 0);
    std::vector<SettingRow> all;
    const auto add = [&](std::string name, Effect effect, bool flag, bool data, bool kept_later) {
      std::optional<SettingValue> before;
      if (!kept_later && !data) before = *usual.find(name);
      std::string flags = flags_of(name);
      all.push_back({std::move(name), flag, data, effect == Effect::defines, std::move(before), std::move(flags)});
    };
    for (const ComposedSetting& row : kComposed) {
      if (row.value == nullptr) add(std::string(row.name), row.effect, false, true, row.kept_later);
    }
    for (const RecipeOption& option : recipe_options()) {
      if (is_setting(option))
        add(std::string(option.name), option.verdict.effect, true, false, option.verdict.kept_later);
    }
    for (const ComposedSetting& row : kComposed) {
      if (row.value != nullptr) add(std::string(row.name), row.effect, false, false, row.kept_later);
    }
    return all;
  }();
  return rows;
}

const SettingRow* setting_of(const RecipeOption& option) {
  using Place = OptionVerdict::Place;
  if (option.verdict.place != Place::setting && option.verdict.place != Place::composed) return nullptr;
  const std::string_view name = option.verdict.place == Place::setting ? option.name : option.verdict.setting;
  const auto rows = setting_rows();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const SettingRow& row) { return row.name == name; });
  RIDGELINE_CHECK(found != rows.end(), "an option is part of a setting that no checkpoint keeps");
  return &*found;
}

Effect effect_of(const RecipeOption& option) {
  const SettingRow* row = setting_of(option);
  if (row == nullptr) return option.verdict.effect;
  return row->defines_run ? Effect::defines : Effect::changes;
}

RunSettings settings_of(const Recipe& recipe, const std::string& data, std::int64_t records) {
  RunSettings settings{.values = {{"data", data}, {"records", records}}};
  for (const RecipeOption& option : recipe_options()) {
    if (!is_setting(option)) continue;
    const OptionVerdict::Reader kept = option.verdict.kept;
    settings.values.emplace(option.name, kept != nullptr ? kept(recipe) : value_of(option, recipe));
  }
  for (const ComposedSetting& row : kComposed) {
    if (row.value != nullptr) settings.values.emplace(row.name, row.value(recipe));
  }
  return settings;
}

}  // namespace ridgeline::train
