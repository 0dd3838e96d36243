// ridgeline/train/recipe/shared_settings.h
//
// What all processes of a run must have alike, by the verdicts of the options (option_verdict.h): their steps are parts
// of one step, and each makes its own.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::train {

// By name, the flags among them with their hyphens. Where the data lie is each one's own.
std::vector<std::pair<std::string, std::string>> shared_settings(const Recipe& recipe, const CheckpointInfo& info,
                                                                 std::int64_t steps);

}  // namespace ridgeline::train
