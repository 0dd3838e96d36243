#include "ridgeline/cli/recipe_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "ridgeline/cli/optimization_flags.h"
#include "ridgeline/cli/presets.h"
#include "ridgeline/cli/replaced_settings.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/train/recipe/duration.h"
#include "ridgeline/train/recipe/kept_settings.h"
#include "ridgeline/train/recipe/options.h"
#include "ridgeline/train/recipe/run_config.h"

namespace ridgeline::cli {
namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  std::string item;
  for (char c : list + ",") {
    if (c == ',') {
      if (!item.empty()) items.push_back(item);
      item.clear();
    } else if (std::string_view(" []'\"").find(c) == std::string_view::npos) {  // also a Python list
      item += c;
    }
  }
  return items;
}

void add_option(Command& app, const train::RecipeOption& option, train::RecipeArguments& arguments,
                const std::string& group) {
  std::string names = fmt::format("--{}", option.name);
  for (const std::string_view alias : option.aliases) names += fmt::format(",--{}", alias);
  const auto add = [&](auto* field) {
    auto& target = field(arguments);
    using Target = std::decay_t<decltype(target)>;
    if constexpr (std::is_same_v<Target, bool> || std::is_same_v<Target, std::optional<bool>>)
      return app.boolean(names, target, option.help);
    else
      return app.option(names, target, option.help);
  };
  Flag flag = std::visit(add, option.field);
  flag.group(group);
  if (option.may_be_empty) flag.may_be_empty();
}

void refuse_unsupported(const train::RecipeArguments& f) {
  const auto check_size = [](const char* flag, std::int64_t value) {
    if (value >= 0) return;
    throw Error(fmt::format("--{}={} is out of range (allowed: 1 or more, or 0 for as many as there are)", flag, value),
                ErrorKind::usage);
  };
  check_size("rank_size", f.rank_size);
  check_size("group_size", f.group_size);
  if (f.rank_size > 0 && f.group_size > 0 && f.rank_size != f.group_size) {
    throw Error(fmt::format("--rank_size={} and --group_size={} differ, but are two names of the same setting",
                            f.rank_size, f.group_size),
                ErrorKind::usage);
  }
  if (f.dtype != "tf.float32" && f.dtype != "float32" && f.dtype != "fp32") {
    throw Error("--dtype=" + f.dtype + ": weights are always float32 (allowed: tf.float32; see --precision_mode)",
                ErrorKind::usage);
  }
}

}  // namespace

void add_recipe_flags(Command& app, train::RecipeArguments& arguments) {
  for (const train::RecipeOption& option : train::recipe_options())
    add_option(app, option, arguments, std::string(option.group.heading));
  app.footer("presets: " + joined_names(builtin_presets()));
}

void add_evaluation_flags(Command& app, train::RecipeArguments& arguments) {
  for (const train::RecipeOption& option : train::recipe_options()) {
    if (option.group.in_evaluations) add_option(app, option, arguments, std::string(option.group.heading));
  }
  app.footer("presets: " + joined_names(builtin_presets()));
}

void refuse_training_flags(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (!word.starts_with("--")) continue;
    const std::string name = word.substr(2, word.find('=') - 2);
    const train::RecipeOption* option = train::find_option(name);
    if (option == nullptr || option->group.in_evaluations) continue;
    throw Error(fmt::format("evaluate: --{} is an option of train and has no effect on an evaluation (evaluate --help "
                            "lists the options)",
                            name),
                ErrorKind::usage);
  }
}

void add_recipe_flags(Command& app, train::RecipeArguments& arguments, std::initializer_list<std::string_view> names,
                      const std::string& group) {
  for (const std::string_view name : names) {
    const train::RecipeOption* option = train::find_option(name);
    RIDGELINE_CHECK(option != nullptr, "a command asks for an option that the recipe does not have");
    add_option(app, *option, arguments, group);
  }
}

std::vector<std::string> with_files(const Command& app, const std::vector<std::string>& words) {
  std::vector<std::string> off;
  const std::vector<std::string> configured = with_run_config(words, off);
  std::vector<std::string> all = with_preset(configured, off);
  // Files describe trainings; a command may have only some of the options.
  const auto from_words = all.end() - static_cast<std::ptrdiff_t>(words.size());
  const auto unknown = [&](const std::string& word) { return !app.has(word.substr(0, word.find('='))); };
  all.erase(std::remove_if(all.begin(), from_words, unknown), from_words);
  return all;
}

namespace {

// One setting by itself, so that an Error has the file and its option.
void check_run_setting(const std::string& name, const std::string& flag, const std::string& where) {
  train::RecipeArguments alone;
  Command app("", "train");
  add_recipe_flags(app, alone);
  try {
    app.parse({flag});
  } catch (const Error& error) {
    std::string option;
    for (const train::RunOption& row : train::run_options()) {
      if (row.setting == name) option = row.name;
    }
    throw Error(fmt::format("{}: {}: {}", where, option, error.what()), error.kind());
  }
}

}  // namespace

std::vector<std::string> with_run_config(const std::vector<std::string>& words, std::vector<std::string>& off) {
  const std::string flag = "--run_config";
  std::string path;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(flag + "=")) path = words[i].substr(flag.size() + 1);
    if (words[i] == flag && i + 1 < words.size()) path = words[i + 1];
  }
  if (path.empty()) return words;
  if (!is_regular_file(path)) throw Error("no such file: " + path + " (--run_config)", ErrorKind::usage);
  const std::string where = "[run_config] " + path;
  const train::RunConfig config = train::read_run_config(read_file(path), where);
  for (const std::string& warning : config.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  off = config.off;
  std::vector<std::string> all;
  for (const auto& [name, value] : without_replaced(config.settings, words)) {
    all.push_back(fmt::format("--{}={}", name, value));
    check_run_setting(name, all.back(), where);
  }
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

namespace {

template <class Number>
std::vector<Number> numbers_of(const char* flag, const std::string& list) {
  std::vector<Number> numbers;
  for (const std::string& word : split(list)) {
    Number value{};
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || rest != word.data() + word.size())
      throw Error(fmt::format("{}={}: '{}' is not a number", flag, list, word), ErrorKind::usage);
    numbers.push_back(value);
  }
  return numbers;
}

void finish_rank_flags(const Command& app, train::RecipeArguments& f) {
  train::Recipe& r = f.recipe;
  r.rank_size = std::max(f.rank_size, f.group_size);
  if (f.rank_size == 0) r.rank_size_flag = "--group_size";
  const char* by_size = "--split_strategy_by_size";
  const char* by_index = "--split_strategy_by_idx";
  if (app.given(by_index))
    r.gradient_split = SplitStrategy::by_indices(numbers_of<std::int64_t>(by_index, f.split_by_index));
  if (app.given(by_size)) r.gradient_split = SplitStrategy::by_sizes(numbers_of<double>(by_size, f.split_by_size));
}

}  // namespace

namespace {

// Settings that an evaluation is not given come from the checkpoint; a log is written only on request.
void finish_evaluation_flags(const Command& app, train::Recipe& r) {
  if (!app.given("--model")) r.model.clear();
  r.label_smoothing_of_checkpoint = !app.given("--label_smoothing");
  if (app.given("--log_dir")) return;
  if (app.given("--log_name"))
    throw Error("--log_name needs --log_dir: without it an evaluation writes no log", ErrorKind::usage);
  r.log_dir.clear();
}

// Warns about flags that do nothing here; presets may hold them for other commands.
void tell_without_effect(const Command& app, const train::Recipe& r) {
  const auto tell = [&](const char* flag, const char* why) {
    if (app.given(flag)) std::fprintf(stderr, "warning: %s has no effect %s\n", flag, why);
  };
  tell("--checkpoint_dir", "on a training, which goes on from its --log_dir");
  if (r.restore_path.empty()) tell("--restore_exclude", "without --weights");
}

// Refuses two flags that set the same thing.
void refuse_both_ways(const Command& app, const train::Recipe& recipe) {
  const auto says = [&](const train::RecipeOption& option) {
    return app.given(fmt::format("--{}", option.name)) &&
           !train::is_off(option, train::value_text(train::value_of(option, recipe)));
  };
  for (const train::RecipeOption& option : train::recipe_options()) {
    for (const train::OtherWay& way : option.instead_of) {
      if (!way.refused.empty() && says(option) && says(*train::find_option(way.option)))
        throw Error(std::string(way.refused), ErrorKind::usage);
    }
  }
}

}  // namespace

data::BadSampleOptions finish_bad_samples(const Command& app, const train::RecipeArguments& f) {
  data::BadSampleOptions options = f.recipe.bad_samples;
  options.policy = data::parse_bad_sample_policy(f.bad_samples);
  if (options.budget < 0)
    throw Error("--bad_sample_budget=" + std::to_string(options.budget) + " is out of range (allowed: 0 or more)",
                ErrorKind::usage);
  for (const char* flag : {"--bad_sample_budget", "--quarantine"}) {
    if (options.policy == data::BadSamplePolicy::raise && app.given(flag))
      throw Error(
          std::string(flag) + " needs --bad_samples=skip or replace: with raise, the first bad sample ends the run",
          ErrorKind::usage);
  }
  return options;
}

train::Recipe finish_recipe(const Command& app, train::RecipeArguments& f) {
  refuse_unsupported(f);
  for (const char* flag : {"--debug", "--eval"}) {
    if (app.given(flag)) std::fprintf(stderr, "warning: %s has no effect\n", flag);
  }
  train::Recipe& r = f.recipe;
  // Random pixels have no validation split.
  if (r.synthetic && !app.given("--mode") && f.mode == "train_and_evaluate") f.mode = "train";
  refuse_both_ways(app, r);
  r.mode = train::parse_mode(f.mode);
  if (r.mode != train::Mode::evaluate) tell_without_effect(app, r);
  if (r.mode == train::Mode::evaluate) finish_evaluation_flags(app, r);
  r.label_base = data::parse_label_base(f.label_base);
  r.bad_samples = finish_bad_samples(app, f);
  r.model_options.init = f.alexnet_version;
  if (f.dropout_keep != 0) r.model_options.dropout_keep = f.dropout_keep;
  r.experimental = train::ExperimentalConfig(f.accelerate_train_mode);
  if (app.given("--final_loss")) r.final_loss = f.final_loss;
  if (app.given("--max_train_steps") && f.max_train_steps != 0) r.max_train_steps = f.max_train_steps;
  r.restore_exclude = split(f.restore_exclude);
  r.metrics = split(f.metrics);
  if (!f.max_time.empty()) r.max_time = train::parse_duration("--max_time", f.max_time);
  finish_optimization_flags(app, f, r);
  finish_rank_flags(app, f);
  train::check(r);
  if (!r.model.empty()) nn::complete_options(nn::model_named(r.model), r.model_options);
  return r;
}

}  // namespace ridgeline::cli
