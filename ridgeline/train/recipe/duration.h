// ridgeline/train/recipe/duration.h
//
// Lengths of time as flags give them.
#pragma once

#include <string>

namespace ridgeline::train {

inline constexpr const char* kDurationForms = "seconds (5400), parts with units (1d, 3h, 1h30m, 90m, 45s), or H:MM:SS";

// "5400", "1h30m" and "1:30:00" are 5400 seconds. An Error (usage) names the flag and the formats.
double parse_duration(const std::string& flag, const std::string& text);

}  // namespace ridgeline::train
