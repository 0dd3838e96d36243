// ridgeline/train/recipe/options.h
//
// The options of a recipe, one row each: this table defines the flags of the command line, keys of presets, settings of
// a run configuration and what a sweep can vary; also what a checkpoint keeps and what all ranks must have in common. A
// new option costs one more row.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ridgeline/train/recipe/arguments.h"
#include "ridgeline/train/recipe/option_verdict.h"

namespace ridgeline::train {

// Where the value is stored.
using OptionField = std::variant<std::string& (*)(RecipeArguments&), std::vector<std::string>& (*)(RecipeArguments&),
                                 bool& (*)(RecipeArguments&), std::optional<bool>& (*)(RecipeArguments&),
                                 int& (*)(RecipeArguments&), std::int64_t& (*)(RecipeArguments&),
                                 std::uint64_t& (*)(RecipeArguments&), double& (*)(RecipeArguments&)>;

// The range of an option that is a number; `allowed` says it in words. Empty: any number, or the option has its own
// check.
struct OptionRange {
  std::string_view allowed = "";
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  bool above_least = false, below_most = false;  // the ends themselves are out of range
};

// An option's heading in --help, and whether it has an effect in an evaluation of checkpoints, too: `evaluate` has
// those options and refuses the others.
struct OptionGroup {
  std::string_view heading;
  bool in_evaluations = false;
};
inline constexpr bool kInEvaluations = true;

// An option that says the same thing in another way. What the command line says by one takes the place of what a preset
// or a run configuration says by the other.
struct OtherWay {
  std::string_view option;
  std::string_view refused = "";  // where the user says both: the Error; "": the run's own checks tell it
};

struct RecipeOption {
  std::string_view name;
  OptionGroup group;
  std::string help;
  OptionField field;
  OptionVerdict verdict;  // on other values: for a resumed run and between ranks
  OptionRange range = {};
  std::vector<std::string_view> aliases = {};
  bool in_presets = true;  // false: read before presets
  // Whether a value names a file or folder to be read: launch passes its absolute path on, since ranks run in other
  // folders.
  bool (*names_file)(std::string_view value) = nullptr;
  bool may_be_empty = false;  // for a text: --name= means none
  std::vector<OtherWay> instead_of = {};
  std::optional<double> off = std::nullopt;  // the number that sets nothing
  // The argument of an optimizer (optim/optimizers.h) or a schedule (optim/schedules.h) that it gives. It is refused if
  // the chosen one does not read it.
  std::string_view of_optimizer = "", of_schedule = "";
};
// For options whose values are always paths.
inline bool is_path(std::string_view /*value*/) { return true; }
// True unless it is the name of a built-in preset.
bool is_preset_file(std::string_view preset);

// The longest run: the number of its steps can still be represented.
inline constexpr double kMostEpochs = 1e9;

// In the order of --help.
std::span<const RecipeOption> recipe_options();
// By name or alias; nullptr: there is none.
const RecipeOption* find_option(std::string_view name);
// With aliases.
std::vector<std::string> option_names();
// Whether a value, as a flag gives it, is the number that sets nothing.
bool is_off(const RecipeOption& option, std::string_view value);

// An Error (usage) "--lr=-1 is out of range (allowed: 0 to 1000000)" for the first number that is out of range.
void check_ranges(const Recipe& recipe);

// The table as Markdown, for docs/options.md.
std::string options_table();

// The rows of one heading each, in one file each.
std::vector<RecipeOption> data_options();
std::vector<RecipeOption> model_options();
std::vector<RecipeOption> optimization_options();
std::vector<RecipeOption> run_options_of_recipe();
std::vector<RecipeOption> execution_options();
std::vector<RecipeOption> parallel_options();

}  // namespace ridgeline::train
