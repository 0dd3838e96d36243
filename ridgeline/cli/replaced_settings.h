// ridgeline/cli/replaced_settings.h
//
// Settings of a preset or of a run configuration that the command line replaces. It takes precedence. So a setting that
// conflicts with a flag of the command line is dropped, while two such flags would be refused.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ridgeline::cli {

// By flag, without hyphens, in order.
using FlagValues = std::vector<std::pair<std::string, std::string>>;

// The last value that these words of a command line give to a flag ("--lr"); empty if there is none.
std::string value_of(const std::vector<std::string>& words, const std::string& flag);

// The settings without those that a word replaces: the word sets the same thing in another way (--precision_mode and
// amp_level, --crop_padding and min_area), or names an optimizer or schedule that does not read the setting.
FlagValues without_replaced(FlagValues settings, const std::vector<std::string>& words);

}  // namespace ridgeline::cli
