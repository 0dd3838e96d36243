#include "ridgeline/cli/optimization_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/optim/optimizers.h"
#include "ridgeline/train/recipe/options.h"

namespace ridgeline::cli {
namespace {

// A flag and the name of the argument that it sets.
struct ArgumentFlag {
  std::string flag;
  std::string_view argument;
  const train::RecipeOption* option;
};

// Of the options that give an argument: of optimizers or of schedules.
std::vector<ArgumentFlag> argument_flags(std::string_view train::RecipeOption::*argument) {
  std::vector<ArgumentFlag> flags;
  for (const train::RecipeOption& option : train::recipe_options()) {
    if (!(option.*argument).empty()) flags.push_back({fmt::format("--{}", option.name), option.*argument, &option});
  }
  return flags;
}
std::vector<ArgumentFlag> optimizer_flags() { return argument_flags(&train::RecipeOption::of_optimizer); }
std::vector<ArgumentFlag> schedule_flags() { return argument_flags(&train::RecipeOption::of_schedule); }

// What the user gives for an argument of an optimizer.
void give(optim::OptimizerArguments& arguments, const ArgumentFlag& flag, train::RecipeArguments given) {
  const auto rows = optim::optimizer_arguments();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.name == flag.argument; });
  RIDGELINE_CHECK(row != rows.end(), "an option gives an argument that no optimizer has");
  std::visit(
      [&](const auto& field) {
        using Value = std::decay_t<decltype(field(given))>;
        if constexpr (std::is_same_v<Value, double>) arguments.*(row->real) = field(given);
        if constexpr (std::is_same_v<Value, bool>) arguments.*(row->flag) = field(given);
      },
      flag.option->field);
}

template <class Entry>
bool reads(const Entry& entry, std::string_view argument) {
  return std::find(entry.arguments.begin(), entry.arguments.end(), argument) != entry.arguments.end();
}

// A flag that is given and that `entry` does not read is a mistake.
template <class Entry>
void refuse_unread(const Command& app, const std::vector<ArgumentFlag>& flags, const char* kind, const Entry& entry) {
  std::string read;
  for (const ArgumentFlag& f : flags) {
    if (reads(entry, f.argument)) read += (read.empty() ? "" : ", ") + f.flag;
  }
  for (const ArgumentFlag& f : flags) {
    if (!app.given(f.flag) || reads(entry, f.argument)) continue;
    throw Error(fmt::format("{} has no effect on the {} {} (which reads {})", f.flag, kind, entry.name,
                            read.empty() ? "none of these flags" : read),
                ErrorKind::usage);
  }
}

template <class Number>
Number number(const std::string& text, const std::string& flag, const char* meaning) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  throw Error(fmt::format("{}: '{}' is not a valid {}", flag, text, meaning), ErrorKind::usage);
}

std::vector<std::int64_t> epochs(const std::string& list) {
  std::vector<std::int64_t> values;
  std::size_t begin = 0;
  while (begin < list.size()) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    values.push_back(number<std::int64_t>(list.substr(begin, end - begin), "--lr_decay_epochs=" + list, "epoch"));
    begin = end + 1;
  }
  return values;
}

nn::ParameterGroup scaled_group(const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) {
    throw Error(fmt::format("--lr_scale={} is not PATTERN=FACTOR, such as features.*=0.1", text), ErrorKind::usage);
  }
  return {.pattern = text.substr(0, at),
          .rate_factor = number<double>(text.substr(at + 1), "--lr_scale=" + text, "number")};
}

}  // namespace

bool is_unread(const std::string& setting, const std::string& optimizer, const std::string& schedule) {
  const auto unread = [&](const std::vector<ArgumentFlag>& flags, const auto& table, const std::string& name) {
    const auto entry = std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
    if (entry == table.end()) return false;
    for (const ArgumentFlag& f : flags)
      if (f.flag == "--" + setting) return !reads(*entry, f.argument);
    return false;
  };
  return unread(optimizer_flags(), optim::optimizers(), optimizer) ||
         unread(schedule_flags(), optim::schedules(), schedule);
}

void finish_optimization_flags(const Command& app, const train::RecipeArguments& f, train::Recipe& r) {
  train::Optimization& o = r.optimization;
  refuse_unread(app, optimizer_flags(), "optimizer", optim::optimizer_named(o.optimizer));
  refuse_unread(app, schedule_flags(), "schedule", optim::schedule_named(o.schedule));
  for (const ArgumentFlag& flag : optimizer_flags())
    if (app.given(flag.flag)) give(o.arguments, flag, f);
  o.decay_epochs = epochs(f.decay_epochs);
  if (o.schedule == "multi_step" && o.decay_epochs.empty()) {
    throw Error("--lr_schedule=multi_step needs --lr_decay_epochs, such as 30,60,90", ErrorKind::usage);
  }
  if (std::adjacent_find(o.decay_epochs.begin(), o.decay_epochs.end(), std::greater_equal<>()) != o.decay_epochs.end())
    throw Error("--lr_decay_epochs=" + f.decay_epochs + ": epochs in rising order are meant, such as 30,60,90",
                ErrorKind::usage);
  for (const std::string& scaled : f.scaled) o.groups.push_back(scaled_group(scaled));
  for (const std::string& pattern : f.frozen) o.groups.push_back({.pattern = pattern, .frozen = true});
}

}  // namespace ridgeline::cli
