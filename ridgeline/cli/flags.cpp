#include "ridgeline/cli/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>
#include <set>

#include "ridgeline/core/error.h"

namespace ridgeline::cli {
namespace {

std::string command_name(const CLI::App& app) {
  std::string name = app.get_name();
  for (const CLI::App* parent = app.get_parent(); parent != nullptr; parent = parent->get_parent()) {
    if (!parent->get_name().empty()) name = parent->get_name() + " " + name;
  }
  return name;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

bool parse_boolean(const std::string& name, const std::string& given) {
  std::string text = given;
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "0" || text == "no" || text == "off") return false;
  throw CLI::ValidationError(name + "=" + given + " is not a boolean (allowed: True, False)");
}

// The name of a number type in messages.
struct NumberType {
  std::string_view type, meaning;
};
constexpr NumberType kNumberTypes[] = {
    {"INT", "is not an integer"}, {"UINT", "is not an integer of 0 or more"}, {"FLOAT", "is not a number"}};

// CLI11 wraps negative numbers of unsigned types and clamps numbers that are too large. This check refuses both; as its
// message CLI11 gets the text itself.
template <class Number>
std::string refused_number(const std::string& text) {
  Number value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool negative = std::is_unsigned_v<Number> && text.starts_with('-');
  return negative || parsed.ec == std::errc::result_out_of_range ? text : "";
}

template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& target, const std::string& help) {
  return app.add_option(name, target, help)->capture_default_str()->check(refused_number<Number>);
}

// "--lr=abc is not a number", instead of CLI11's message.
std::string conversion_text(const CLI::App& app, const CLI::ParseError& error) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string missing = option->get_name() + ": 1 required ";  // the value is missing
    if (std::string(error.what()).starts_with(missing)) return option->get_name() + " needs a value";
    for (const NumberType& number : kNumberTypes) {
      if (option->count() == 0 || option->get_type_name() != number.type) continue;
      const std::string name = option->get_name(), refused = name + ": ", what = error.what();
      if (what.starts_with(refused)) {
        const std::string value = what.substr(refused.size());
        return fmt::format("{}={} {}", name, value, value.starts_with('-') ? number.meaning : "is too large");
      }
      if (what.find(": " + name + " = ") != std::string::npos)
        return fmt::format("{}={} {}", name, option->results().back(), number.meaning);
    }
  }
  return error.what();
}

constexpr const char* kBoolean = "BOOL";

template <class Target>
CLI::Option* add_boolean(CLI::App& app, const std::string& name, Target& target, const std::string& help) {
  const auto read = [&target, name](const std::string& text) { target = parse_boolean(name, text); };
  return app.add_option_function<std::string>(name, read, help)->type_name(kBoolean);
}

void collect_booleans(const CLI::App& app, std::set<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_type_name() != kBoolean) continue;
    for (const std::string& name : option->get_lnames()) names.insert("--" + name);
  }
  for (const CLI::App* sub : app.get_subcommands(nullptr)) collect_booleans(*sub, names);
}

// A boolean flag without a value means True.
void complete_booleans(const CLI::App& app, std::vector<std::string>& words) {
  std::set<std::string> names;
  collect_booleans(app, names);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool bare = i + 1 == words.size() || words[i + 1].starts_with("-");
    if (bare && names.contains(words[i])) words[i] += "=True";
  }
}

void collect_names(const CLI::App& app, std::set<std::string>& names) {
  for (const std::string& name : flag_names(app)) names.insert(name);
  for (const CLI::App* sub : app.get_subcommands(nullptr)) collect_names(*sub, names);
}

// "--lr=" has no value, and CLI11 would take the next word as one. Where an empty value is allowed, it becomes a word
// of its own.
std::vector<std::string> with_empty_values(const CLI::App& app, const std::set<std::string>& may_be_empty,
                                           const std::vector<std::string>& words) {
  std::set<std::string> names;
  collect_names(app, names);
  std::vector<std::string> all;
  bool flags = true;
  for (const std::string& word : words) {
    all.push_back(word);
    flags = flags && word != "--";
    const std::string name = word.substr(0, word.find('='));
    if (!flags || name.size() + 1 != word.size() || !names.contains(name)) continue;
    if (!may_be_empty.contains(name))
      throw Error(command_name(app) + ": " + name + "= has no value (expected " + name + "=VALUE)", ErrorKind::usage);
    all.back() = name;
    all.emplace_back();
  }
  return all;
}

// The app whose flags the words belong to: the deepest subcommand named among them.
const CLI::App& addressed(const CLI::App& app) {
  for (const CLI::App* sub : app.get_subcommands()) return addressed(*sub);
  return app;
}

// With the full command in its usage line: "Usage: ridgeline dataset pack [OPTIONS]".
std::string help_of(const CLI::App& app) {
  const std::string name = command_name(app);
  return app.help("ridgeline" + (name == app.get_name() ? "" : " " + name.substr(0, name.rfind(' '))));
}

// The Error "dataset: a subcommand is needed: make, inspect, ..." if the command has subcommands and none is given.
void refuse_missing_subcommand(const CLI::App& app) {
  const CLI::App& target = addressed(app);
  std::string names;
  for (const CLI::App* sub : target.get_subcommands(nullptr)) names += (names.empty() ? "" : ", ") + sub->get_name();
  if (names.empty()) return;
  throw Error(command_name(target) + ": a subcommand is needed: " + names, ErrorKind::usage);
}

// Refuses the first word that is neither a flag nor a subcommand, and suggests the nearest known one.
void refuse_extras(const CLI::App& app) {
  const CLI::App& target = addressed(app);
  const std::vector<std::string> extras = app.remaining(true);
  if (extras.empty()) return;
  const std::string word = extras.front().substr(0, extras.front().find('='));
  std::vector<std::string> names = flag_names(target);
  if (word.starts_with("-") && nearest_name(word, names).empty())
    refuse_missing_subcommand(app);  // it may be a flag of a subcommand
  std::string what = "unknown flag " + word;
  if (!word.starts_with("-")) {
    names.clear();
    for (const CLI::App* sub : target.get_subcommands(nullptr)) names.push_back(sub->get_name());
    what = (names.empty() ? "unexpected argument '" : "unknown subcommand '") + word + "'";
  }
  const std::string near = nearest_name(word, names);
  throw Error(command_name(target) + ": " + what + (near.empty() ? "" : " (did you mean " + near + "?)"),
              ErrorKind::usage);
}

}  // namespace

std::vector<std::string> normalize(int argc, char** argv) {
  std::vector<std::string> words;
  bool of_another = false;  // after --
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    of_another = of_another || word == "--";
    if (!of_another && word.starts_with("--")) {
      const std::size_t end = std::min(word.find('='), word.size());
      std::replace(word.begin() + 2, word.begin() + static_cast<std::ptrdiff_t>(end), '-', '_');
    }
    words.push_back(std::move(word));
  }
  return words;
}

Flag& Flag::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Flag& Flag::required() {
  option_->required();
  return *this;
}

Flag& Flag::may_be_empty() {
  for (const std::string& name : option_->get_lnames()) may_be_empty_->insert("--" + name);
  return *this;
}

// The last of several values counts, so that scripts can append flags to override others. Subcommands inherit this.
Command::Command(const std::string& summary, const std::string& name)
    : owned_(std::make_unique<CLI::App>(summary, name)), app_(owned_.get()) {
  app_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

Command::Command(CLI::App* app) : app_(app) {}

Command::~Command() = default;

Command& Command::subcommand(const std::string& name, const std::string& summary) {
  app_->require_subcommand(1);
  subcommands_.emplace_back(new Command(app_->add_subcommand(name, summary)));
  return *subcommands_.back();
}

Flag Command::option(const std::string& name, std::string& target, const std::string& help) {
  CLI::Option* option = app_->add_option(name, target, help);
  if (!target.empty()) option->capture_default_str();
  return {option, may_be_empty_};
}

Flag Command::option(const std::string& name, std::vector<std::string>& target, const std::string& help) {
  return {app_->add_option(name, target, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll), may_be_empty_};
}

Flag Command::option(const std::string& name, int& target, const std::string& help) {
  return {add_number(*app_, name, target, help), may_be_empty_};
}

Flag Command::option(const std::string& name, std::int64_t& target, const std::string& help) {
  return {add_number(*app_, name, target, help), may_be_empty_};
}

Flag Command::option(const std::string& name, std::uint64_t& target, const std::string& help) {
  return {add_number(*app_, name, target, help), may_be_empty_};
}

Flag Command::option(const std::string& name, double& target, const std::string& help) {
  return {add_number(*app_, name, target, help), may_be_empty_};
}

Flag Command::boolean(const std::string& name, bool& target, const std::string& help) {
  CLI::Option* option = add_boolean(*app_, name, target, help);
  option->default_str(target ? "True" : "False");
  return {option, may_be_empty_};
}

Flag Command::boolean(const std::string& name, std::optional<bool>& target, const std::string& help) {
  return {add_boolean(*app_, name, target, help), may_be_empty_};
}

Flag Command::flag(const std::string& name, bool& target, const std::string& help) {
  return {app_->add_flag(name, target, help), may_be_empty_};
}

void Command::footer(const std::string& text) { app_->footer(text); }

bool Command::called() const { return app_->parsed(); }

bool Command::given(const std::string& flag) const {
  const CLI::Option* option = app_->get_option_no_throw(flag);
  return option != nullptr && option->count() > 0;
}

bool Command::has(const std::string& flag) const { return app_->get_option_no_throw(flag) != nullptr; }

bool Command::parse(std::vector<std::string> words) {
  CLI::App& app = *app_;
  std::set<std::string> may_be_empty = may_be_empty_;
  for (const std::unique_ptr<Command>& sub : subcommands_)
    may_be_empty.insert(sub->may_be_empty_.begin(), sub->may_be_empty_.end());
  words = with_empty_values(app, may_be_empty, words);
  complete_booleans(app, words);
  std::reverse(words.begin(), words.end());  // the order that CLI11 expects
  try {
    app.parse(words);
    return true;
  } catch (const CLI::CallForHelp&) {
    std::cout << help_of(addressed(app));
    return false;
  } catch (const CLI::CallForAllHelp&) {
    std::cout << app.help("", CLI::AppFormatMode::All);
    return false;
  } catch (const CLI::ParseError& error) {
    // A mistyped word may be the reason for something missing, so it is reported first.
    if (dynamic_cast<const CLI::ExtrasError*>(&error) || dynamic_cast<const CLI::RequiredError*>(&error)) {
      refuse_extras(app);
      refuse_missing_subcommand(app);
    }
    throw Error(command_name(addressed(app)) + ": " + conversion_text(addressed(app), error), ErrorKind::usage);
  }
}

}  // namespace ridgeline::cli
