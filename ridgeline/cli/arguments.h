// ridgeline/cli/arguments.h
//
// What all commands share: flags with underscores or hyphens, booleans as True/False, unknown flags refused by name
// with the nearest known one, and one line an error.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ridgeline::cli {

// --batch-size and --batch_size become --batch_size; values are left as they are.
std::vector<std::string> normalize(int argc, char** argv);

// Adds --name=True|False (also true, 1, yes, on; --name alone means True).
CLI::Option* add_boolean(CLI::App& app, const std::string& name, bool& target, const std::string& help);

// Whether the flag was given; false for one that the app does not have.
bool given(const CLI::App& app, const std::string& flag);

// Parses the words after the command's name. An unknown flag, a missing or malformed value is a usage Error.
// False: help was asked for and printed.
bool parse(CLI::App& app, std::vector<std::string> words);

}  // namespace ridgeline::cli
