// ridgeline/cli/presets.h
//
// Flags from YAML, before all others: --preset takes the name of a built-in preset (presets/*.yaml) or a file. Up to
// three documents: values by flag, help by flag (`preset` describes the whole), and allowed values by flag, which also
// restrict the command line.
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
// Errors (usage) are "WHERE:LINE: ...": invalid YAML, another structure, a key that is not in `flags` or occurs twice,
// help or choices for a flag without a value, a value that is not among its choices.
Preset read_preset(const std::string& yaml, const std::string& where, const std::vector<std::string>& flags);

// The words of the preset, then those of the command line. Preset settings are dropped that the command line replaces
// (replaced_settings.h) or that are `off`; a line on standard error says which are used. Errors (usage) as above, for
// an unknown name, and for a word that is not among the preset's choices.
std::vector<std::string> with_preset(const std::vector<std::string>& words, const std::vector<std::string>& off);

}  // namespace ridgeline::cli
