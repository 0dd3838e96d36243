// ridgeline/train/recipe/options.h
//
// The options of a recipe, one row each: flags of the command line, keys of presets, settings of a run configuration
// and what a sweep varies are all read from this table, and so is what a checkpoint keeps of them and what ranks must
// have alike. A row more is all that an option costs.
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

// Where the value lies.
using OptionField = std::variant<std::string& (*)(RecipeArguments&), std::vector<std::string>& (*)(RecipeArguments&),
                                 bool& (*)(RecipeArguments&), std::optional<bool>& (*)(RecipeArguments&),
                                 int& (*)(RecipeArguments&), std::int64_t& (*)(RecipeArguments&),
                                 std::uint64_t& (*)(RecipeArguments&), double& (*)(RecipeArguments&)>;

// The range of an option that is a number; `allowed` says it in words. Empty: any number, or the option has a check of
// its own.
struct OptionRange {
  std::string_view allowed = "";
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  bool above_least = false, below_most = false;  // the ends themselves are out of range
};

// Under which heading of --help an option stands, and whether it does something in an evaluation of checkpoints, too:
// `evaluate` has those options and refuses the others.
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
  OptionVerdict verdict;  // of another value, for a run that goes on and among ranks
  OptionRange range = {};
  std::vector<std::string_view> aliases = {};
  bool in_presets = true;  // false: read before them
  // Whether a value names a file or folder to be read: launch, whose ranks run elsewhere, hands on its full path.
  bool (*names_file)(std::string_view value) = nullptr;
  bool may_be_empty = false;  // a text: --name= says that there is none
  std::vector<OtherWay> instead_of = {};
  std::string_view off = "";  // the value by which it says nothing
  // The argument of an optimizer (optim/optimizers.h) or a schedule (optim/schedules.h) that it gives. It is refused
  // where the chosen one does not read it.
  std::string_view of_optimizer = "", of_schedule = "";
};
// For options whose values are always paths.
inline bool is_path(std::string_view /*value*/) { return true; }
// Not the name of one of the program's own presets.
bool is_preset_file(std::string_view preset);

// The longest run: its steps are still a number.
inline constexpr double kMostEpochs = 1e9;

// In the order of --help.
std::span<const RecipeOption> recipe_options();
// By name or alias; nullptr: there is none.
const RecipeOption* find_option(std::string_view name);
// With aliases.
std::vector<std::string> option_names();

// An Error (usage) "--lr=-1 is out of range (allowed: 0 to 1000000)" for the first number that is.
void check_ranges(const Recipe& recipe);

// As Markdown, as docs/options.md holds it.
std::string options_table();

// The rows of one heading each, a file each.
std::vector<RecipeOption> data_options();
std::vector<RecipeOption> model_options();
std::vector<RecipeOption> optimization_options();
std::vector<RecipeOption> run_options_of_recipe();
std::vector<RecipeOption> execution_options();
std::vector<RecipeOption> parallel_options();

}  // namespace ridgeline::train
