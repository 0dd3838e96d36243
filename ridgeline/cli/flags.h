// ridgeline/cli/flags.h
//
// The flags of a command: which flags exist, where their values go, and which were given. The only place that uses the
// parsing library (whose templates are slow to compile).
//
// A command owns its subcommands. Targets must outlive it. An unknown flag, a missing or a malformed value is a usage
// Error that names the flag, and the nearest known one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ridgeline/core/joined_names.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ridgeline::cli {

// One flag, for properties that few flags have.
class Flag {
 public:
  Flag(CLI::Option* option, std::set<std::string>& may_be_empty) : option_(option), may_be_empty_(&may_be_empty) {}
  // Its heading in --help.
  Flag& group(const std::string& heading);
  Flag& required();
  // Allows --name= (of a text) as an empty value; by default that is refused, since it is mostly a variable that is not
  // set.
  Flag& may_be_empty();

 private:
  CLI::Option* option_;
  std::set<std::string>* may_be_empty_;  // the list of its command
};

class Command {
 public:
  Command(const std::string& summary, const std::string& name);
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // A command that has subcommands needs one of them.
  Command& subcommand(const std::string& name, const std::string& summary);

  // --name=VALUE; a name without hyphens takes words that belong to no flag. The target's present value is the default
  // that --help shows (nothing if it is empty). Of several values the last counts; a list takes all.
  Flag option(const std::string& name, std::string& target, const std::string& help);
  Flag option(const std::string& name, std::vector<std::string>& target, const std::string& help);
  Flag option(const std::string& name, int& target, const std::string& help);
  Flag option(const std::string& name, std::int64_t& target, const std::string& help);
  Flag option(const std::string& name, std::uint64_t& target, const std::string& help);
  Flag option(const std::string& name, double& target, const std::string& help);
  // --name=True|False (also true, 1, yes, on; --name alone means True).
  Flag boolean(const std::string& name, bool& target, const std::string& help);
  // The same with a third state: not given.
  Flag boolean(const std::string& name, std::optional<bool>& target, const std::string& help);
  // --name, without a value.
  Flag flag(const std::string& name, bool& target, const std::string& help);

  // A line below the flags of --help.
  void footer(const std::string& text);

  // Parses the words after the command's name. False: help was requested and printed.
  bool parse(std::vector<std::string> words);
  // After parse(): whether this subcommand was called.
  bool called() const;
  // Whether the flag was given; false if the command does not have it.
  bool given(const std::string& flag) const;
  bool has(const std::string& flag) const;

 private:
  explicit Command(CLI::App* app);
  std::unique_ptr<CLI::App> owned_;  // empty in subcommands
  CLI::App* app_;
  std::vector<std::unique_ptr<Command>> subcommands_;
  std::set<std::string> may_be_empty_;  // flags, with hyphens
};

// --batch-size and --batch_size become --batch_size; values, and all words behind --, are left as they are.
std::vector<std::string> normalize(int argc, char** argv);

}  // namespace ridgeline::cli
