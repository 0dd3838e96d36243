// ridgeline/cli/giving_way.h
//
// Settings of a preset or of a run configuration that mean nothing beside what the command line says: it counts before
// them, so they give way instead of being refused beside it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ridgeline::cli {

// By flag, without hyphens, in order.
using FlagValues = std::vector<std::pair<std::string, std::string>>;

// The value that the words give a flag ("--lr") last; empty: none of them does.
std::string value_of(const std::vector<std::string>& words, const std::string& flag);

// The settings without those that a word takes the place of: another way to say the same thing (--precision_mode for
// amp_level, --crop_padding for min_area), or an optimizer or schedule that does not read them.
FlagValues without_replaced(FlagValues settings, const std::vector<std::string>& words);

}  // namespace ridgeline::cli
