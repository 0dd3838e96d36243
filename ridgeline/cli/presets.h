// ridgeline/cli/presets.h
//
// Flags from YAML, before all others: --preset NAME of those that come with the program (presets/*.yaml), or a file of
// one's own. Up to three documents: values by flag, help by flag (`preset` describes the whole), and choices by flag,
// which hold for the command line, too.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ridgeline/cli/flags.h"

namespace ridgeline::cli {

struct BuiltinPreset {
  std::string_view name, yaml;
};
// By name.
std::span<const BuiltinPreset> builtin_presets();

struct Preset {
  std::string description;
  std::vector<std::pair<std::string, std::string>> values;  // flags without hyphens, in the file's order
  std::map<std::string, std::string> help;
  std::map<std::string, std::vector<std::string>> choices;
};
// Errors (usage) are "WHERE:LINE: ...": no YAML, another form, a key that is none of `flags` or comes twice, help or
// choices of a flag that has no value, a value that is none of its choices.
Preset read_preset(const std::string& yaml, const std::string& where, const std::vector<std::string>& flags);

// The words of the command line behind those that its --preset stands for, without what they take the place of
// (replaced_settings.h) and without the settings that are `off`. A line on standard error says which they
// are. Errors (usage) as above, for an unknown name, and for a word that is none of the preset's choices.
std::vector<std::string> with_preset(const std::vector<std::string>& words, const std::vector<std::string>& off);

}  // namespace ridgeline::cli
